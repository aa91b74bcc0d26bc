#!/usr/bin/env python3
"""The portable matrix products, run by a program that knows their published tables and nothing of athanor.

Usage: portable_kernels.py --athanor build/release/athanor
It asks `athanor kernels --wgsl NAME` for the text and runs it through the PyPI package wgpu on a device with WebGPU's default limits:
bindings in the table's order, 16 x 16 threads, ceil(N/64) by ceil(M or K/64) groups, a uniform vec4<u32> whose last word is anything.
"""

import numpy
import wgpu

from program import Checks, Program, parser

ANYTHING = 0x9E3779B9  # the uniform's last word means nothing
# (M, N, K): rows are whole vec4; nothing is a multiple of the tile but in the last one.
SIZES = [(1, 4, 4), (5, 12, 36), (63, 132, 260), (65, 68, 8), (257, 344, 64), (128, 192, 64)]


def silu(x):
    return x / (1 + numpy.exp(-x))


def transposed(a):
    return a.T


# name -> operands (by shape letters), shape of Y, uniform, the product in float64.
def product(name):
    swiglu = name.endswith("swiglu_a")
    stem = name.replace("_acc", "").replace("_swiglu_a", "")
    if stem == "matmul":
        shapes, y, right = ["MK"] * (2 if swiglu else 1) + ["KN"], "MN", lambda w: w
        uniform, left = "MNK", lambda x: x
    elif stem == "matmul_t":
        shapes, y, right = ["MK", "NK"], "MN", transposed
        uniform, left = "MNK", lambda x: x
    else:
        shapes, y, right = ["MK"] * (2 if swiglu else 1) + ["MN"], "KN", lambda b: b
        uniform, left = "KNM", transposed

    def compute(operands):
        x = silu(operands[0]) * operands[1] if swiglu else operands[0]
        return left(x) @ right(operands[-1])

    return shapes, y, uniform, compute


NAMES = ["matmul", "matmul_acc", "matmul_t", "matmul_t_acc", "matmul_at", "matmul_at_acc", "matmul_swiglu_a",
         "matmul_at_swiglu_a", "matmul_at_acc_swiglu_a"]


class Runner:
    def __init__(self, program):
        self.program = program
        adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
        self.device = adapter.request_device_sync(required_limits={})
        self.shaders = {}

    def shader(self, name):
        if name not in self.shaders:
            text = self.program.must("-q", "kernels", "--device", "cpu", "--wgsl", name)
            self.shaders[name] = self.device.create_shader_module(code=text)
        return self.shaders[name]

    def buffer(self, values, usage):
        return self.device.create_buffer_with_data(data=values.tobytes(), usage=usage)

    def run(self, name, operands, y, uniform, groups):
        storage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.COPY_SRC
        buffers = [self.buffer(operand, storage) for operand in operands]
        result = self.buffer(y, storage)
        params = self.buffer(uniform, wgpu.BufferUsage.UNIFORM)
        kinds = ["read-only-storage"] * len(buffers) + ["storage", "uniform"]
        layout = self.device.create_bind_group_layout(entries=[
            {"binding": i, "visibility": wgpu.ShaderStage.COMPUTE, "buffer": {"type": kind}} for i, kind in enumerate(kinds)])
        group = self.device.create_bind_group(layout=layout, entries=[
            {"binding": i, "resource": {"buffer": buffer, "offset": 0, "size": buffer.size}}
            for i, buffer in enumerate([*buffers, result, params])])
        pipeline = self.device.create_compute_pipeline(
            layout=self.device.create_pipeline_layout(bind_group_layouts=[layout]),
            compute={"module": self.shader(name), "entry_point": "main"})
        encoder = self.device.create_command_encoder()
        compute = encoder.begin_compute_pass()
        compute.set_pipeline(pipeline)
        compute.set_bind_group(0, group)
        compute.dispatch_workgroups(*groups)
        compute.end()
        self.device.queue.submit([encoder.finish()])
        return numpy.frombuffer(self.device.queue.read_buffer(result), dtype=numpy.float32).reshape(y.shape)


def check_product(runner, name):
    shapes, y_shape, uniform, compute = product(name)
    rng = numpy.random.default_rng(1)
    worst = 0.0
    for m, n, k in SIZES:
        extent = {"M": m, "N": n, "K": k}
        operands = [rng.standard_normal([extent[c] for c in shape]).astype(numpy.float32) for shape in shapes]
        before = rng.standard_normal([extent[c] for c in y_shape]).astype(numpy.float32)
        words = numpy.array([*(extent[c] for c in uniform), ANYTHING], dtype=numpy.uint32)
        groups = (-(-n // 64), -(-extent[y_shape[0]] // 64), 1)
        # Without _acc what lay in Y must not matter, not even a NaN.
        start = before if "_acc" in name else numpy.full_like(before, numpy.nan)
        got = runner.run(name, operands, start, words, groups)
        want = compute([operand.astype(numpy.float64) for operand in operands])
        if "_acc" in name:
            want = want + before
        error = numpy.abs(got - want).max() / numpy.abs(want).max()
        # The bound of src/kernels/compare.h for a sum of this length.
        allowed = 2.0**-24 * (8 + 2 * extent[uniform[2]] ** 0.5)
        assert error <= allowed, f"M {m}, N {n}, K {k}: error {error:.2e}, allowed {allowed:.2e}"
        worst = max(worst, error)
    return f"largest error {worst:.1e}"


def main():
    arguments = parser(__doc__).parse_args()
    runner = Runner(Program(arguments.athanor))
    checks = Checks()
    for name in NAMES:
        checks.check(name, check_product, runner, name)
    checks.finish()


if __name__ == "__main__":
    main()
