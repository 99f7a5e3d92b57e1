//! Methods that set one field each: structures that may grow are made by a constructor and these.

/// Declares such methods, from a line for each: its name, the field and its type, and what it is for.
macro_rules! setters {
    ($type:ty: $($name:ident $field:ident: $value:ty, $about:literal;)*) => {
        impl $type {
            $(
                #[doc = $about]
                pub fn $name(mut self, $field: $value) -> Self {
                    self.$field = $field;
                    self
                }
            )*
        }
    };
}

pub(crate) use setters;
