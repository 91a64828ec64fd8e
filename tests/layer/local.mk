# SPDX-License-Identifier: Apache-2.0
# The OpenCL layer that counts and refuses calls: a module for the loader.
if HAVE_OPENCL
check_PROGRAMS += tests/layer/opencl_layer.so
tests_layer_opencl_layer_so_SOURCES = %reldir%/layer.c %reldir%/layer.h %reldir%/answers.c \
	%reldir%/answers.h
tests_layer_opencl_layer_so_CFLAGS = $(TEST_MODULE_CFLAGS)
tests_layer_opencl_layer_so_LINK = $(TEST_MODULE_LINK)
tests_layer_opencl_layer_so_LDADD =
endif
