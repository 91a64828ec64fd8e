# SPDX-License-Identifier: Apache-2.0
# Small programs against the public interface alone, built and run by make check.
EXTRA_DIST += %reldir%/configure.m4 %reldir%/check_borrowed.sh %reldir%/check_digits.sh %reldir%/check_recommend.sh \
	%reldir%/check_train.sh %reldir%/train/README.md \
	%reldir%/digits/README.md %reldir%/digits/train.py \
	%reldir%/digits/digits.csv.gz %reldir%/digits/w0.npy %reldir%/digits/w1.npy %reldir%/digits/w2.npy \
	%reldir%/digits/b0.npy %reldir%/digits/b1.npy %reldir%/digits/b2.npy

if HAVE_ZLIB
noinst_PROGRAMS += examples/digits/digits
examples_digits_digits_SOURCES = %reldir%/digits/digits.c %reldir%/digits/dataset.c %reldir%/digits/dataset.h \
	%reldir%/digits/npy.c %reldir%/digits/npy.h
examples_digits_digits_LDADD = libfuse.la -lz
TESTS += examples/check_digits.sh

noinst_PROGRAMS += examples/train/train
examples_train_train_SOURCES = %reldir%/train/train.c %reldir%/train/lines.c %reldir%/train/lines.h \
	%reldir%/train/network.c %reldir%/train/network.h \
	%reldir%/digits/dataset.c %reldir%/digits/dataset.h
examples_train_train_LDADD = libfuse.la -lm -lz
TESTS += examples/check_train.sh
endif

noinst_PROGRAMS += examples/recommend/recommend
examples_recommend_recommend_SOURCES = %reldir%/recommend/recommend.c
examples_recommend_recommend_LDADD = libfuse.la -lm

noinst_PROGRAMS += examples/recommend/learn
examples_recommend_learn_SOURCES = %reldir%/recommend/learn.c %reldir%/recommend/clicks.c %reldir%/recommend/clicks.h
examples_recommend_learn_LDADD = libfuse.la -lm
TESTS += examples/check_recommend.sh

noinst_PROGRAMS += examples/borrowed/borrowed
examples_borrowed_borrowed_SOURCES = %reldir%/borrowed/borrowed.c %reldir%/borrowed/owner.c %reldir%/borrowed/owner.h
examples_borrowed_borrowed_LDADD = libfuse.la -lm -ldl
TESTS += examples/check_borrowed.sh
