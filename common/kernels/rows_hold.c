/* SPDX-License-Identifier: Apache-2.0 */
/* What the work-items of teams hold of their rows in registers, and how many work-groups fit a compute unit then. */
#include "common/base/costs.h"
#include "common/kernels/rows.h"

/*
 * A work-item has 64 registers for most kernels. What is the same for all rows is worth 128 of them, which halves the
 * groups of a compute unit: 16 loads a row less, and the row after next on its way. Look-ups are in between.
 */
enum { FIXED_WORDS = 48, NEXT_WORDS = 40, MOST_WORDS = 80, TOP_WORDS = 96 };
enum { MOST_REGISTERS = 64, FIXED_REGISTERS = 128, LOOK_UP_REGISTERS = 80 };

/* Registers that a work-item of a group takes besides those of elements. */
enum { OTHER_WORDS = 8 };

static int registers_of_unit(const lfuse__rows *r)
{
    return lfuse__costs_of(r->facts).rows.registers;
}

typedef struct words {
    int fixed, varying; /* of all chunks of a work-item: what is the same for all rows, and the rest */
    int again, late;    /* of all chunks: what several sweeps read; of one: what the last one alone reads */
    int sweeps[LFUSE__MAX_OPERANDS];
    bool last[LFUSE__MAX_OPERANDS]; /* the last sweep alone, which comes after another */
    bool looks_up;
} words;

/* 32-bit registers of one chunk of an operand. */
static int chunk_words(const lfuse__rows *r, int j)
{
    const lfuse__kernel_operand *o = &r->t.k->operands[j];
    if (lfuse__in_blocks(o)) return lfuse__block_words(&r->t, j);
    return LFUSE__ROW_VECTOR * (lfuse__type_bytes(o->type) == 8 ? 2 : 1);
}

static words count_words(const lfuse__rows *r, int chunks)
{
    words w = {.looks_up = lfuse__kernel_gathers(r->t.k)};
    for (int s = 0; s < r->nsweeps; s++) {
        bool needed[LFUSE__ROW_INSTR], loads[LFUSE__MAX_OPERANDS];
        lfuse__rows_needs(r, s, needed, loads);
        for (int j = 0; j < r->t.k->noperands; j++) {
            w.sweeps[j] += loads[j];
            w.last[j] = s && loads[j] && w.sweeps[j] == 1;
        }
    }
    for (int j = 0; j < r->t.k->noperands; j++) {
        const int one = w.sweeps[j] ? chunk_words(r, j) : 0;
        *(r->t.k->operands[j].fixed ? &w.fixed : &w.varying) += chunks * one;
        if (w.sweeps[j] > 1) w.again += chunks * one;
        if (w.last[j]) w.late += one;
    }
    return w;
}

/*
 * Where a group has a compute unit to itself nobody else computes while it waits, so that the last sweep should not
 * wait for each chunk of what it loads: stores keep compilers from loading early by themselves. 8192 layernorms of
 * 32768 on an H200: 627 us without, 560 with; two chunks ahead are no better.
 */
static bool loads_ahead(const lfuse__rows *r, const words *w)
{
    const int room = registers_of_unit(r) / r->mapping.team;
    return 2 * w->again >= room && w->again + 2 * w->late <= room - OTHER_WORDS;
}

/* Rows that are looked up wait for an index first: more groups at a time are worth more than fewer loads. */
static bool holds_fixed(const words *w)
{
    return w->fixed <= FIXED_WORDS && !w->looks_up;
}

/* Words of two rows and what they share, or 0 where the next row is not loaded ahead. */
static int ahead_words(const words *w)
{
    const bool fixed = holds_fixed(w);
    const int all = 2 * w->varying + (fixed ? w->fixed : 0);
    return all <= (fixed && w->fixed ? MOST_WORDS : NEXT_WORDS) ? all : 0;
}

static bool is_ahead(const lfuse__rows *r, const words *w, int j)
{
    const lfuse__kernel_operand *o = &r->t.k->operands[j];
    return w->last[j] && lfuse__in_blocks(o) && !o->gathered && loads_ahead(r, w);
}

void lfuse__rows_hold(const lfuse__rows *r, int chunks, lfuse__hold *holds)
{
    const lfuse__kernel_class *k = r->t.k;
    const bool group = r->mapping.form == LFUSE__ROWS_GROUP;
    const words w = count_words(r, chunks);
    for (int j = 0; j < k->noperands; j++) {
        const bool again = w.sweeps[j] > 1;
        if (!w.sweeps[j])
            holds[j] = LFUSE__HOLD_NONE;
        else if (r->mapping.form == LFUSE__ROWS_PARTIAL || (group && !r->mapping.held))
            holds[j] = LFUSE__HOLD_LATE;
        else if (group)
            holds[j] = again ? LFUSE__HOLD_TOP : is_ahead(r, &w, j) ? LFUSE__HOLD_AHEAD : LFUSE__HOLD_LATE;
        else if (k->operands[j].fixed)
            holds[j] = holds_fixed(&w) ? LFUSE__HOLD_FIXED : LFUSE__HOLD_LATE;
        else if (ahead_words(&w))
            holds[j] = LFUSE__HOLD_NEXT;
        else
            holds[j] = again || w.varying <= TOP_WORDS ? LFUSE__HOLD_TOP : LFUSE__HOLD_LATE;
    }
}

int lfuse__rows_residents(const lfuse__rows *r, int chunks)
{
    const words w = count_words(r, chunks);
    const int each = ahead_words(&w) > NEXT_WORDS ? FIXED_REGISTERS : w.looks_up ? LOOK_UP_REGISTERS : MOST_REGISTERS;
    return registers_of_unit(r) / (LFUSE__GROUP * each);
}
