# SPDX-License-Identifier: Apache-2.0
# The OpenCL layer that counts and refuses calls; a module for the loader, so it needs an rpath to be shared.
if HAVE_OPENCL
check_LTLIBRARIES += tests/layer/opencl_layer.la
tests_layer_opencl_layer_la_SOURCES = %reldir%/layer.c %reldir%/layer.h %reldir%/answers.c \
	%reldir%/answers.h
tests_layer_opencl_layer_la_LDFLAGS = -module -avoid-version -shared -rpath $(abs_builddir)/tests/layer
tests_layer_opencl_layer_la_LIBADD =
endif
