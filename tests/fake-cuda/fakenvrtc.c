/* SPDX-License-Identifier: Apache-2.0 */
/* An NVRTC that compiles nothing: all of its functions but one are missing. */

int nvrtcVersion(int *major, int *minor);
int nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return 0;
}
