//! The `bathtub` command: reads the command line, does what it says, and ends with one of the codes of [`exit::Exit`].

mod args;
mod bench;
mod check;
mod exit;
mod panic;
mod pictures;
mod progress;
mod reproduce;
mod run;
mod signals;
mod terminal;

use args::{Cli, Command};
use clap::Parser;
use exit::{Exit, Failure};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let json_errors = cli.json_errors;
    let exit = match panic::guard(|| dispatch(cli)) {
        Ok(exit) => exit,
        Err(failure) => {
            terminal::complain(&if json_errors { failure.to_json() } else { format!("error: {failure}") });
            failure.exit
        }
    };
    ExitCode::from(exit as u8)
}

fn dispatch(cli: Cli) -> Result<Exit, Failure> {
    match cli.command {
        Command::Run(options) => run::start(&options, cli.quiet),
        Command::Resume(options) => run::resume(&options, cli.quiet),
        Command::Render(options) => pictures::redraw(&options, cli.quiet),
        Command::Check(options) => check::check(&options),
        Command::Schema { markdown } => check::schema(markdown),
        Command::Reproduce(options) => reproduce::reproduce(&options, reproduce::ALL),
        Command::Bench(options) => bench::bench(&options, bench::ALL),
    }
}

/// Help and version are answers, everything else is a mistake on the command line.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        terminal::say(error.render().to_string().trim_end());
        return ExitCode::SUCCESS;
    }
    if std::env::args().any(|argument| argument == "--json-errors") {
        let text = error.render().to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        terminal::complain(&Failure::new(Exit::Usage, first).to_json());
    } else {
        terminal::complain(error.render().to_string().trim_end());
    }
    ExitCode::from(Exit::Usage as u8)
}
