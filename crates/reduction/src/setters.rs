//! Methods that set one field each: structures that may grow are made by a constructor and these.

/// Declares such methods, from a line for each: its name and parameters, the field and its new value, and what it is for.
macro_rules! setters {
    ($type:ty: $($name:ident($($arg:ident: $value:ty),*) $field:ident = $new:expr, $about:literal;)*) => {
        impl $type {
            $(
                #[doc = $about]
                pub fn $name(mut self, $($arg: $value),*) -> Self {
                    self.$field = $new;
                    self
                }
            )*
        }
    };
}

pub(crate) use setters;
