/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are others put together: no operator of their own. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "libfuse/ops.h"

lfuse_value lfuse_addcmul(lfuse_value a, lfuse_value b, lfuse_value c, lfuse_value value)
{
    return lfuse_add(a, lfuse_mul(lfuse_mul(value, b), c));
}

lfuse_value lfuse_addcdiv(lfuse_value a, lfuse_value b, lfuse_value c, lfuse_value value)
{
    return lfuse_add(a, lfuse_mul(value, lfuse_div(b, c)));
}

lfuse_value lfuse_prelu(lfuse_value a, lfuse_value slope)
{
    return lfuse_leaky_relu(a, slope);
}

lfuse_value lfuse_hardtanh(lfuse_value a, lfuse_value low, lfuse_value high)
{
    return lfuse_clamp(a, low, high);
}

lfuse_value lfuse_tanhshrink(lfuse_value a)
{
    return lfuse_sub(a, lfuse_tanh(a));
}

lfuse_value lfuse_glu(lfuse_value a, lfuse_value gate)
{
    return lfuse_mul(a, lfuse_sigmoid(gate));
}

lfuse_value lfuse_reglu(lfuse_value a, lfuse_value gate)
{
    return lfuse_mul(a, lfuse_relu(gate));
}

lfuse_value lfuse_geglu(lfuse_value a, lfuse_value gate)
{
    return lfuse_mul(a, lfuse_gelu(gate));
}

lfuse_value lfuse_geglu_tanh(lfuse_value a, lfuse_value gate)
{
    return lfuse_mul(a, lfuse_gelu_tanh(gate));
}

lfuse_value lfuse_geglu_quick(lfuse_value a, lfuse_value gate)
{
    return lfuse_mul(a, lfuse_gelu_quick(gate));
}

lfuse_value lfuse_swiglu(lfuse_value a, lfuse_value gate)
{
    return lfuse_mul(a, lfuse_silu(gate));
}
