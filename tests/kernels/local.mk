# SPDX-License-Identifier: Apache-2.0
kernel_cases = %reldir%/arrive.c %reldir%/bounds.c %reldir%/bundles.c %reldir%/cases.c %reldir%/cases.h \
	%reldir%/classes.c %reldir%/classes.h %reldir%/grouped.c %reldir%/host.c %reldir%/host.h %reldir%/lines.c \
	%reldir%/look_ups.c %reldir%/members.c %reldir%/networks.c %reldir%/networks.h %reldir%/products.c \
	%reldir%/prologues.c %reldir%/rig.c %reldir%/rig.h %reldir%/row_look_ups.c %reldir%/rows.c %reldir%/split.c \
	%reldir%/strassen.c %reldir%/sums.c %reldir%/tiles.c %reldir%/unit_prologues.c tests/matmul/choose.h

check_PROGRAMS += %reldir%/check_emit %reldir%/check_rows_choose %reldir%/check_host %reldir%/check_devices \
	%reldir%/probe-d3
TESTS += %reldir%/check_emit %reldir%/check_rows_choose %reldir%/check_host %reldir%/check_devices
check_PROGRAMS += %reldir%/check_layout %reldir%/check_key %reldir%/check_template
TESTS += %reldir%/check_layout %reldir%/check_key %reldir%/check_template
tests_kernels_check_layout_SOURCES = %reldir%/check_layout.c %reldir%/classes.c %reldir%/classes.h
tests_kernels_check_key_SOURCES = %reldir%/check_key.c
tests_kernels_check_template_SOURCES = %reldir%/check_template.c
tests_kernels_check_emit_SOURCES = %reldir%/check_emit.c %reldir%/classes.c %reldir%/classes.h
tests_kernels_check_rows_choose_SOURCES = %reldir%/check_rows_choose.c %reldir%/classes.c %reldir%/classes.h
tests_kernels_check_host_SOURCES = %reldir%/check_host.c $(kernel_cases)
tests_kernels_check_host_LDADD = tests/stub/libstub.la $(LDADD) -lm
tests_kernels_check_devices_SOURCES = %reldir%/check_devices.c $(kernel_cases)
tests_kernels_check_devices_LDADD = $(LDADD) -lm

# Run by hand: counts of differing bits on every device.
tests_kernels_probe_d3_SOURCES = %reldir%/probe_d3.c $(kernel_cases)
tests_kernels_probe_d3_LDADD = $(LDADD) -lm

if HAVE_CUDA
check_PROGRAMS += %reldir%/check_nvrtc
TESTS += %reldir%/check_nvrtc
endif
tests_kernels_check_nvrtc_SOURCES = %reldir%/check_nvrtc.c $(kernel_cases)
tests_kernels_check_nvrtc_LDADD = $(LDADD) -lm
