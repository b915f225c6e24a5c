#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_model_explorer.py STOWAGE MODEL [OPTION]...: what `plan` and `bench --model-explorer` write loads as the classes of
Model Explorer (PyPI: ai-edge-model-explorer), and overlays name nodes of the graph. Skipped without the package."""
import json
import pathlib
import subprocess
import sys
import tempfile

try:
    import dacite  # the package reads its extensions' answers with it
    from model_explorer import graph_builder, node_data_builder
except ImportError:
    print("skipped: no ai-edge-model-explorer")
    sys.exit(0)


def load(kind, data, **config):
    return dacite.from_dict(kind, data, dacite.Config(strict=True, **config))


def main():
    stowage, model, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        stem = pathlib.Path(folder) / "net"
        subprocess.run([stowage, "bench", model, *options, "--runs", "1", "--warmup", "0",
                        "--model-explorer", f"{stem}.json"], check=True, stdout=subprocess.DEVNULL)
        collection = load(graph_builder.GraphCollection, json.loads(stem.with_suffix(".json").read_text()))
        graph, = collection.graphs
        ids = {node.id for node in graph.nodes}
        assert len(ids) == len(graph.nodes), "two nodes share an id"
        edges = [edge for node in graph.nodes for edge in node.incomingEdges]
        assert edges and all(edge.sourceNodeId in ids for edge in edges), "an edge comes from nowhere"
        for name in ("layout", "predicted", "measured"):
            overlays = json.loads(pathlib.Path(f"{stem}.{name}.json").read_text())
            assert list(overlays) == [graph.id], f"{name}: {list(overlays)} is no graph"
            # The viewer takes words as values, which the class does not say.
            data = load(node_data_builder.GraphNodeData, overlays[graph.id], check_types=name != "layout")
            assert data.results and set(data.results) <= ids, f"{name}: results of nodes that the graph lacks"
            node_data_builder.ModelNodeData(graphsData={graph.id: data}).to_json_string()
    print(f"model explorer: {len(ids)} nodes, {len(edges)} edges")


main()
