# SPDX-License-Identifier: Apache-2.0
"""engines.py NAME MODEL THREADS INPUT...: one engine, obeying the lines that stowage.cc describes."""
import json
import pathlib
import sys
import time

import numpy as np


def onnxruntime(model, threads, inputs):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    feed = {i.name: x for i, x in zip(session.get_inputs(), inputs)}
    return lambda: session.run(None, feed)


def openvino(model, threads, inputs):
    import openvino as ov

    core = ov.Core()
    options = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
               "INFERENCE_PRECISION_HINT": "f32"}
    request = core.compile_model(core.read_model(str(model)), "CPU", options).create_infer_request()
    feed = dict(enumerate(inputs))
    return lambda: list(request.infer(feed).values())


def litert(model, threads, inputs):
    from ai_edge_litert.interpreter import Interpreter

    engine = Interpreter(model_path=str(model), num_threads=threads)
    engine.allocate_tensors()
    pairs = [(i["index"], x) for i, x in zip(engine.get_input_details(), inputs)]
    outputs = [o["index"] for o in engine.get_output_details()]

    def once():
        for index, x in pairs:
            engine.set_tensor(index, x)
        engine.invoke()
        return [engine.get_tensor(index) for index in outputs]

    return once


def mnn(model, threads, inputs):
    import MNN

    net = MNN.Interpreter(str(model.with_suffix(".mnn")))
    session = net.createSession({"backend": "CPU", "numThread": threads, "precision": "high"})
    names = json.loads(model.with_suffix(".json").read_text())
    kind = MNN.Tensor_DimensionType_Caffe
    pairs = []
    for name, x in zip(names["inputs"], inputs):
        pairs.append((net.getSessionInput(session, name),
                      MNN.Tensor(x.shape, MNN.Halide_Type_Float, x, kind)))
    outputs = []
    for name in names["outputs"]:
        from_tensor = net.getSessionOutput(session, name)
        shape = from_tensor.getShape()
        outputs.append((from_tensor, MNN.Tensor(shape, MNN.Halide_Type_Float,
                                                np.zeros(shape, np.float32), kind)))

    def once():
        for to, x in pairs:
            to.copyFrom(x)
        net.runSession(session)
        for tensor, host in outputs:
            tensor.copyToHostTensor(host)
        return [host.getNumpyData() for _, host in outputs]

    return once


def ncnn(model, threads, inputs):
    import ncnn as engine

    net = engine.Net()
    net.opt.num_threads = threads
    # Stored and computed in single precision, as all others.
    for name in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_storage"):
        setattr(net.opt, "use_" + name, False)
    net.load_param(str(model.with_suffix(".ncnn.param")))
    net.load_model(str(model.with_suffix(".ncnn.bin")))
    # A Mat has no batch axis.
    arrays = [x[0] for x in inputs]

    def once():
        extractor = net.create_extractor()
        for i, x in enumerate(arrays):
            extractor.input(f"in{i}", engine.Mat(x))
        return [np.array(extractor.extract(name)[1]) for name in net.output_names()]

    return once


def main():
    name, model, threads, *files = sys.argv[1:]
    model = pathlib.Path(model)
    known = json.loads(model.with_suffix(".json").read_text())
    inputs = [np.fromfile(f, t).reshape(s) for f, t, s in zip(files, known["dtypes"], known["shapes"])]
    engines = {f.__name__: f for f in (onnxruntime, openvino, mnn, ncnn, litert)}
    once = engines[name](model, int(threads), inputs)
    outputs = []
    for line in sys.stdin:
        verb, rest = line.split()
        if verb == "run":
            times, begin = [], time.perf_counter()
            while len(times) < 5 or time.perf_counter() - begin < float(rest):
                start = time.perf_counter()
                outputs = once()
                times.append((time.perf_counter() - start) * 1e3)
            print(json.dumps(times), flush=True)
        elif verb == "output":
            np.concatenate([np.asarray(y, np.float32).ravel() for y in outputs]).tofile(rest)
            print(json.dumps("written"), flush=True)


if __name__ == "__main__":
    main()
