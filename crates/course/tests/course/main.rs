//! The program as its users meet it.

mod cards;
mod checkout;
mod command;
mod exercises;
mod launch;
mod page;
