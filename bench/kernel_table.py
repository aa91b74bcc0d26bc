#!/usr/bin/env python3
"""Makes the table of docs/benchmarks.md from `athanor bench kernels --json`.

Usage: athanor bench kernels --device webgpu --json > kernels.json; bench/kernel_table.py kernels.json
"""

import json
import sys

report = json.load(open(sys.argv[1], encoding="utf-8"))
print(f"{report['device']}, {report['driver']}; operands of {report['operand_bytes'] >> 20} MiB; measured limits: "
      f"{report['arithmetic_flops_per_second'] / 1e12:.1f} TFLOP/s of multiply-adds, {report['copy_bytes_per_second'] / 1e12:.2f} TB/s copied\n")
print("| kernel | sizes | ms | TFLOP/s | GB/s | % of arithmetic | % of a copy |")
print("|---|---|---|---|---|---|---|")
for row in report["kernels"]:
    if "error" in row:
        print(f"| {row['kernel']} | {row['error']} | | | | | |")
        continue
    print(f"| {row['kernel']} | {row['sizes']} | {row['milliseconds']:.3f} | {row['flops_per_second'] / 1e12:.2f} | "
          f"{row['bytes_per_second'] / 1e9:,.0f} | {100 * row['share_of_arithmetic']:.0f} | {100 * row['share_of_bandwidth']:.0f} |")
