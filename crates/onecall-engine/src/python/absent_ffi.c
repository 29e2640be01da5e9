/* Stands in for libffi, the C library behind the interpreter's `ctypes`.
 *
 * The interpreter cannot be built without `ctypes`, and not every machine has libffi. Programs need
 * no foreign functions, so every request to prepare a call is refused here and nothing is linked.
 * No program gets as far as this: its native module is replaced, see `ctypes.rs`.
 */

#include <stddef.h>

/* libffi's FFI_BAD_ABI: the call cannot be prepared. */
enum { REFUSED = 2 };

struct type {
    size_t size;
    unsigned short alignment, kind;
    struct type **elements;
};

#define TYPE(name) struct type ffi_type_##name = {0, 0, 0, NULL}

TYPE(void);
TYPE(uint8);
TYPE(sint8);
TYPE(uint16);
TYPE(sint16);
TYPE(uint32);
TYPE(sint32);
TYPE(uint64);
TYPE(sint64);
TYPE(float);
TYPE(double);
TYPE(longdouble);
TYPE(pointer);

int ffi_prep_cif(void) { return REFUSED; }

int ffi_prep_cif_var(void) { return REFUSED; }

int ffi_prep_closure_loc(void) { return REFUSED; }

int ffi_get_struct_offsets(void) { return REFUSED; }

void *ffi_closure_alloc(void) { return NULL; }

void ffi_closure_free(void) {}

/* Not reached: no call can be prepared. */
void ffi_call(void) { __builtin_trap(); }
