//! The program as its users meet it.

mod command;
mod exercises;
mod launch;
mod page;
