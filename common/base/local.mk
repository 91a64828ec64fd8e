# SPDX-License-Identifier: Apache-2.0
libfuse_core_la_SOURCES += \
	%reldir%/arena.c %reldir%/arena.h %reldir%/array.c %reldir%/array.h \
	%reldir%/clock.h \
	%reldir%/costs.c %reldir%/costs.h \
	%reldir%/epilogue.h %reldir%/env.c %reldir%/env.h \
	%reldir%/error.c %reldir%/error.h \
	%reldir%/facts.c %reldir%/facts.h \
	%reldir%/file.c %reldir%/file.h \
	%reldir%/hash.c %reldir%/hash.h \
	%reldir%/json.c %reldir%/json.h \
	%reldir%/library.c %reldir%/library.h \
	%reldir%/log.c %reldir%/log.h \
	%reldir%/names.c \
	%reldir%/precision.c %reldir%/precision.def %reldir%/precision.h \
	%reldir%/real.c %reldir%/real.h \
	%reldir%/strbuf.c %reldir%/strbuf.h
libfuse_core_la_SOURCES += %reldir%/half.h %reldir%/philox.h %reldir%/power.c %reldir%/power.h %reldir%/whole.h
BUILT_SOURCES += %reldir%/power.k.h
CLEANFILES += %reldir%/power.k.h
EXTRA_DIST += %reldir%/power.k
