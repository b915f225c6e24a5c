# SPDX-License-Identifier: Apache-2.0
import gc
import json
import os
import pathlib
import pickle
import resource
import subprocess
import sys
import threading

import numpy as np
import onnx
import onnx.reference
import pytest
from conftest import ROOT, SHARED, UPSCALE, add_model, model_bytes, small_conv
from onnx import TensorProto, helper

import stowage


def reference(model, inputs):
    return onnx.reference.ReferenceEvaluator(onnx.load_from_string(model)).run(None, inputs)


def shared_models():
    lines = (ROOT / "tests/suite/models.txt").read_text().split()
    return [line.rsplit("/", 1)[1] for line in lines if line.startswith("models/onnx/")]


def read_pb(path):
    return onnx.numpy_helper.to_array(onnx.load_tensor(path))


class TestCalls:
    def test_upscale_is_the_reference(self, image):
        expected = reference(pathlib.Path(UPSCALE).read_bytes(), {"image": image})[0]
        np.testing.assert_allclose(stowage.load(UPSCALE)(image), expected, rtol=1e-3, atol=1e-5)

    @pytest.mark.parametrize("threads", [None, 1, 2])
    def test_several_outputs_are_a_dict(self, image, threads):
        model = stowage.load(small_conv(), threads=threads)
        results = model(image)
        assert list(results) == ["conv", "relu"]
        for have, want in zip(results.values(), reference(small_conv(), {"x": image})):
            np.testing.assert_allclose(have, want, rtol=1e-3, atol=1e-5)

    def test_by_name_by_position_and_run_agree(self):
        a, b = np.random.default_rng(0).uniform(-1, 1, (2, 4, 8)).astype(np.float32)
        model = stowage.load(add_model())
        for y in (model(a, b), model(b=b, a=a), model(a, b=b), model.run(None, {"b": b, "a": a})[0],
                  model.run(["y"], {"a": a, "b": b})[0]):
            np.testing.assert_array_equal(y, a + b)
            assert y.flags.owndata or y.base is not None

    @pytest.mark.parametrize("name", shared_models())
    def test_models_with_reference_outputs(self, name):
        """The folders that the command line's tests check, with the tolerance of `stowage check`."""
        if not (SHARED / name).is_dir():
            pytest.skip("no test data")
        model = stowage.load(SHARED / name / "model.onnx")
        data = SHARED / name / "test_data_set_0"
        inputs = {p.name: read_pb(data / f"input_{i}.pb") for i, p in enumerate(model.inputs)}
        for i, have in enumerate(model.run(None, inputs)):
            want = read_pb(data / f"output_{i}.pb")
            np.testing.assert_allclose(have, want, rtol=1e-3, atol=1e-5 * max(np.abs(want).max(), 1))

    def test_arrays_of_any_strides(self, image):
        model = stowage.load(UPSCALE)
        expected = model(image)
        views = [
            np.asfortranarray(image),
            image[:, :, ::-1][:, :, ::-1],
            np.ascontiguousarray(image[..., ::-1])[..., ::-1],
            np.ascontiguousarray(image.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2),
            image.astype(np.float64),
        ]
        for view in views:
            np.testing.assert_allclose(model(view), expected, rtol=1e-6)
        grey = np.broadcast_to(image[:, :1], image.shape)
        np.testing.assert_array_equal(model(grey), model(np.ascontiguousarray(grey)))

    def test_out_is_written_in_place(self, image):
        model = stowage.load(small_conv())
        want = model(image)
        turned = np.empty((1, 24, 32, 8), np.float32)
        whole = np.full((1, 16, 24, 32), 7, np.float32)
        out = model.run(None, {"x": image}, out=[turned.transpose(0, 3, 1, 2), whole[:, ::2]])
        np.testing.assert_array_equal(turned.transpose(0, 3, 1, 2), want["conv"])
        np.testing.assert_array_equal(whole[:, ::2], want["relu"])
        assert (whole[:, 1::2] == 7).all()
        assert out[0].base is turned
        relu = np.empty_like(want["relu"])
        some = model.run(["relu", "conv"], {"x": image}, out={"relu": relu})
        assert some[0] is relu
        np.testing.assert_array_equal(some[1], want["conv"])

    def test_bfloat16(self):
        node = helper.make_node("Relu", ["x"], ["y"])
        model = stowage.load(model_bytes([node], {"x": [4]}, ["y"], TensorProto.BFLOAT16))
        assert model.inputs[0].dtype == "bfloat16"
        bits = np.array([0x3F80, 0xBF80, 0x4000, 0xC000], np.uint16)  # 1, -1, 2, -2
        y = model(bits)
        np.testing.assert_array_equal(y.view(np.uint16), [0x3F80, 0, 0x4000, 0])

    def test_integers_and_booleans(self):
        node = helper.make_node("Not", ["x"], ["y"])
        flags = np.array([True, False, True])
        model = stowage.load(model_bytes([node], {"x": [3]}, ["y"], TensorProto.BOOL))
        np.testing.assert_array_equal(model(flags), ~flags)
        assert model(flags).dtype == np.bool_

    def test_empty_batch_and_scalars(self):
        node = helper.make_node("Relu", ["x"], ["y"])
        model = stowage.load(model_bytes([node], {"x": ["n", 3]}, ["y"]))
        assert model(np.zeros((0, 3), np.float32)).shape == (0, 3)
        scalar = stowage.load(model_bytes([node], {"x": []}, ["y"]))
        assert scalar(np.array(-2, np.float32)).shape == ()


class TestShapes:
    def test_each_set_of_shapes_is_planned(self, image):
        model = stowage.load(small_conv())
        assert model.inputs[0].shape == ("n", 3, "h", "w")
        assert model.outputs[0].shape is None
        for batch, side in ((1, 8), (2, 8), (1, 16), (1, 8)):
            x = np.random.default_rng(side).uniform(-1, 1, (batch, 3, side, 8)).astype(np.float32)
            np.testing.assert_allclose(model(x)["conv"], reference(small_conv(), {"x": x})[0],
                                       rtol=1e-3, atol=1e-5)

    def test_more_shapes_than_plans_are_kept(self):
        model = stowage.load(small_conv(), threads=1)
        for height in [*range(1, 13), 1, 12]:
            assert model(np.zeros((1, 3, height, 4), np.float32))["conv"].shape == (1, 8, height, 4)

    def test_shapes_bind_and_replace(self, image):
        model = stowage.load(UPSCALE, shapes={"image": (1, 3, 24, 32)})
        assert model.outputs[0].shape == (1, 3, 48, 64)
        assert model.inputs[0].axes == ("n", "c", "h", "w")
        with pytest.raises(stowage.BadInputError, match=r"has the shape .*24.*32"):
            model(np.zeros((1, 3, 8, 8), np.float32))

    def test_static_extents_hold(self):
        with pytest.raises(stowage.BadInputError, match="takes .*3.*, not .*4"):
            stowage.load(small_conv())(np.zeros((1, 4, 8, 8), np.float32))

    def test_axes_by_name(self, image):
        model = stowage.load(small_conv())
        want = model(image)["conv"]
        nhwc = np.ascontiguousarray(image.transpose(0, 2, 3, 1))
        np.testing.assert_array_equal(model(nhwc, axes="nhwc")["conv"], want)
        np.testing.assert_array_equal(model(stowage.named(nhwc, "nhwc"))["conv"], want)
        np.testing.assert_array_equal(model(image[0].transpose(1, 2, 0)[None], axes="nhwc")["conv"],
                                      want)
        with pytest.raises(stowage.UsageError, match="axes"):
            model(image, axes="abcd")

    def test_formats_turn_inputs_and_outputs(self, image):
        model = stowage.load(small_conv(), formats={"x": "nhwc", "conv": "nhwc"})
        results = model(image.transpose(0, 2, 3, 1))
        want = stowage.load(small_conv())(image)
        np.testing.assert_array_equal(results["conv"], want["conv"].transpose(0, 2, 3, 1))
        np.testing.assert_array_equal(results["relu"], want["relu"])

    def test_pictures_become_numbers(self, image):
        picture = (image * 255).astype(np.uint8)
        mean, scale = [10.0, 20.0, 30.0], [0.5, 0.25, 0.125]
        floats = (picture - np.reshape(mean, (3, 1, 1))) * np.reshape(scale, (3, 1, 1))
        model = stowage.load(small_conv())
        have = model(picture.transpose(0, 2, 3, 1), axes="nhwc", mean=mean, scale=scale)["conv"]
        want = model(floats.astype(np.float32))["conv"]
        np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-4)

    def test_layouts_are_planned_for(self, image):
        model = stowage.load(UPSCALE, shapes={"image": image.shape},
                             layouts={"image": stowage.Layout("n h w c")})
        assert [c["from"] for c in model.plan.report["conversions"]][:1] != ["NCHW"]
        np.testing.assert_allclose(model(image), stowage.load(UPSCALE)(image), rtol=1e-4, atol=1e-5)


class TestPlan:
    def test_texts(self):
        plan = stowage.load(UPSCALE, shapes={"image": (1, 3, 8, 8)}).plan
        assert "conv 'head'" in repr(plan)
        assert plan.report == json.loads(plan.to_json())
        assert {"nodes", "conversions", "arena_bytes", "cost_us"} <= set(plan.report)
        assert plan.to_html().lstrip().lower().startswith("<!doctype html")
        drawn = plan._repr_html_()
        assert drawn.startswith("<iframe srcdoc=") and "<!doctype" not in drawn.lower()

    def test_why_not(self):
        model = stowage.load(small_conv())
        plan = model.plan_for({"x": (1, 3, 8, 8)})
        node = plan.report["nodes"][0]["name"]
        answer = plan.why_not(node, "NHWC")
        assert node in repr(answer) and isinstance(answer.report, dict)
        with pytest.raises(stowage.UsageError, match="has no node 'nothing'"):
            plan.why_not("nothing", "NHWC")

    def test_exact_leaves_winograd_out(self):
        def kernels(**options):
            plan = stowage.load(UPSCALE, threads=1, **options).plan_for({"image": (1, 3, 96, 128)})
            return "".join(node["kernel"] for node in plan.report["nodes"])

        assert "conv_winograd" in kernels() and "conv_winograd" not in kernels(exact=True)

    def test_profile_has_a_row_a_step(self):
        model = stowage.load(UPSCALE, threads=1)
        table = model.profile(shapes={"image": (1, 3, 24, 32)}, runs=3)
        assert len({len(column) for column in table.values()}) == 1
        assert table["us"] and min(table["us"]) >= 0
        assert sum(table["percent"]) == pytest.approx(100)
        assert "Conv" in "".join(table["op"]) or "conv" in "".join(table["kernel"])

    def test_bench(self):
        times = stowage.load(add_model()).bench(runs=5)
        assert 0 < times["min_ms"] <= times["median_ms"] <= times["p90_ms"] <= times["max_ms"]


REFUSALS = {
    "missing file": (lambda: stowage.load("nowhere/x.onnx"), stowage.BadInputError, "x.onnx"),
    "no model": (lambda: stowage.load(b"\x00\x01"), stowage.BadInputError, "ONNX|model"),
    "cut short": (lambda: stowage.load(add_model()[:-9]), stowage.BadInputError, "ONNX|model"),
    "planner": (lambda: stowage.load(UPSCALE, planner="best"), stowage.UsageError, "optimal, rule"),
    "device": (lambda: stowage.load(UPSCALE, device="gpu"), stowage.UsageError, "cpu, opencl"),
    "threads": (lambda: stowage.load(add_model(), threads=0), stowage.UsageError, "threads|256"),
    "threads of an open model": (lambda: stowage.load(UPSCALE, threads=257), stowage.UsageError,
                                 "1 to 256"),
    "rates": (lambda: stowage.load(UPSCALE, rates={"speed": 1}), stowage.UsageError, "call_us"),
    "format": (lambda: stowage.load(UPSCALE, formats={"image": "x"}), stowage.UsageError, "nhwc"),
    "layout": (lambda: stowage.load(UPSCALE, layouts={"image": "n ("}), stowage.UsageError, r"missing \)"),
    "shape's name": (lambda: stowage.load(UPSCALE, shapes={"x": [1]}), stowage.UsageError, "image"),
    "input's name": (lambda: stowage.load(add_model()).run(None, {"z": 1}), stowage.UsageError,
                     "has no input 'z'; it has 'a', 'b'"),
    "output's name": (lambda: stowage.load(add_model()).run(["z"], {"a": F, "b": F}),
                      stowage.UsageError, "has no output 'z'; it has 'y'"),
    "missing input": (lambda: stowage.load(add_model())(F), stowage.UsageError, "'b' is not given"),
    "twice": (lambda: stowage.load(add_model())(F, F, a=F), stowage.UsageError, "twice"),
    "too many": (lambda: stowage.load(add_model())(F, F, F), stowage.UsageError, "3 arrays"),
    "shape": (lambda: stowage.load(add_model())(F, F[:2]), stowage.BadInputError, r"not \[2, 8\]"),
    "type": (lambda: stowage.load(model_bytes(
        [helper.make_node("Not", ["x"], ["y"])], {"x": [3]}, ["y"], TensorProto.BOOL))(
            np.zeros(3, np.float32)), stowage.BadInputError, "is bool, not f32"),
    "no array": (lambda: stowage.load(add_model())(object(), F), stowage.UsageError, "object"),
    "read-only out": (lambda: stowage.load(add_model()).run(
        None, {"a": F, "b": F}, out=[np.broadcast_to(np.float32(0), (4, 8))]),
        stowage.UsageError, "read-only"),
    "out's number": (lambda: stowage.load(add_model()).run(None, {"a": F, "b": F}, out=[]),
                     stowage.UsageError, "0 arrays for 1 output"),
    "out's shape": (lambda: stowage.load(add_model()).run(
        None, {"a": F, "b": F}, out=[np.empty((8, 4), np.float32)]),
        stowage.BadInputError, "has the shape"),
    "unsupported": (lambda: stowage.load(model_bytes(
        [helper.make_node("Nothing", ["x"], ["y"])], {"x": [3]}, ["y"])),
        stowage.UnsupportedError, "Nothing"),
    "open plan": (lambda: stowage.load(small_conv()).plan, stowage.Error, "x"),
    "runs": (lambda: stowage.load(add_model()).bench(runs=0), stowage.UsageError, "1 or more"),
}
F = np.zeros((4, 8), np.float32)


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case):
    call, kind, pattern = REFUSALS[case]
    with pytest.raises(kind, match=pattern) as raised:
        call()
    error = raised.value
    assert isinstance(error, stowage.Error)
    assert type(error).code == error.code and error.sentence
    assert "\n" not in error.sentence or case == "layout"  # a caret under the place
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error)


def test_errors_are_pythons_errors_too():
    kinds = {stowage.UsageError: ValueError, stowage.BadInputError: ValueError,
             stowage.UnsupportedError: NotImplementedError, stowage.DeviceError: RuntimeError,
             stowage.LimitError: MemoryError, stowage.InternalError: RuntimeError}
    for ours, theirs in kinds.items():
        assert issubclass(ours, theirs) and issubclass(ours, stowage.Error)
        assert str(ours("wrong", "node 'x'")) == "wrong [node 'x']"
    assert sorted(c.code for c in stowage.Error.__subclasses__()) == list(stowage.ErrorCode)


class TestProcesses:
    @pytest.mark.parametrize("source", ["path", "bytes"])
    def test_pickle(self, image, source, monkeypatch, tmp_path):
        monkeypatch.chdir(ROOT)
        data = "models/upscale_x2.onnx" if source == "path" else pathlib.Path(UPSCALE).read_bytes()
        model = stowage.load(data, shapes={"image": (1, 3, 24, 32)}, threads=1)
        pickled = pickle.dumps(model)
        monkeypatch.chdir(tmp_path)
        again = pickle.loads(pickled)
        np.testing.assert_array_equal(again(image), model(image))
        assert again.inputs == model.inputs

    def test_a_forked_child_is_refused_and_ends(self):
        script = """if True:
            import os, sys
            import numpy as np, stowage
            x = np.zeros((1, 3, 24, 32), np.float32)
            model = stowage.load("models/upscale_x2.onnx", threads=2)
            model(x)
            child = os.fork()
            if child == 0:
                try:
                    model(x)
                except stowage.UsageError as e:
                    ok = "fork" in str(e)
                mine = stowage.load("models/upscale_x2.onnx", threads=2)
                mine(x)
                del model
                sys.exit(0 if ok else 1)
            status = os.waitpid(child, 0)[1]
            assert os.waitstatus_to_exitcode(status) == 0, status
            model(x)
        """
        subprocess.run([sys.executable, "-W", "ignore", "-c", script], cwd=ROOT, check=True,
                       timeout=60)

    @pytest.mark.parametrize("threads", [1, 2])
    def test_threads_share_a_model(self, threads):
        model = stowage.load(small_conv(), threads=threads)
        images = [np.random.default_rng(i).uniform(-1, 1, (1, 3, 8 + i % 3, 8)).astype(np.float32)
                  for i in range(4)]
        expected = [stowage.load(small_conv())(x)["conv"] for x in images]
        wrong = []

        def work(i):
            for _ in range(200):
                if not np.array_equal(model(images[i])["conv"], expected[i]):
                    wrong.append(i)

        workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
        assert not any(worker.is_alive() for worker in workers) and not wrong


def test_opencl(image):
    try:
        model = stowage.load(UPSCALE, device="opencl", shapes={"image": image.shape})
    except stowage.DeviceError as e:
        pytest.skip(f"no device: {e}")
    np.testing.assert_allclose(model(image), stowage.load(UPSCALE)(image), rtol=1e-3, atol=1e-4)


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def test_memory_does_not_grow():
    model = stowage.load(small_conv(), threads=1)
    x = np.zeros((1, 3, 16, 16), np.float32)
    picture = np.zeros((1, 16, 16, 3), np.uint8)
    out = [np.empty((1, 8, 16, 16), np.float32) for _ in range(2)]

    def calls(n):
        for _ in range(n):
            model(x)
            model(picture, axes="nhwc", scale=1 / 255)
            model.run(None, {"x": x}, out=out)
            with pytest.raises(stowage.BadInputError):
                model(x[:, :2])

    calls(1000)
    gc.collect()
    before = resident_bytes()
    calls(10000)
    gc.collect()
    # One leaked array or view a call would be several MiB.
    assert resident_bytes() - before < 1 << 20


def test_models_are_freed():
    before = None
    for i in range(30):
        stowage.load(UPSCALE, shapes={"image": (1, 3, 64, 64)}, threads=2)
        if i == 9:
            before = resident_bytes()
    assert resident_bytes() - before < 8 << 20
    assert len(os.listdir("/proc/self/task")) < 20
