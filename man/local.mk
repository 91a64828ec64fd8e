# SPDX-License-Identifier: Apache-2.0
dist_man_MANS += %reldir%/lfuse.7 %reldir%/lfuse-info.1 %reldir%/lfuse-bench.1
