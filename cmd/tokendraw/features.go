package main

import (
	"runtime"

	"golang.org/x/sys/cpu"
)

// cpuFeatures names the processor and those of its features that the vector
// code of package cpu could use.
func cpuFeatures() []string {
	list := []string{runtime.GOARCH}
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"avx", cpu.X86.HasAVX}, {"avx2", cpu.X86.HasAVX2}, {"bmi2", cpu.X86.HasBMI2},
		{"avx512f", cpu.X86.HasAVX512F}, {"avx512bw", cpu.X86.HasAVX512BW}, {"avx512dq", cpu.X86.HasAVX512DQ},
		{"avx512vl", cpu.X86.HasAVX512VL}, {"avx512vbmi2", cpu.X86.HasAVX512VBMI2},
		{"asimd", cpu.ARM64.HasASIMD}, {"fphp", cpu.ARM64.HasFPHP}, {"sve", cpu.ARM64.HasSVE},
	} {
		if f.has {
			list = append(list, f.name)
		}
	}
	return list
}
