//! Policies as the gateway uses them.

mod deciding;
mod indexed;
mod loading;
mod support;
