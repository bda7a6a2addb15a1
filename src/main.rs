//! The `bathtub` command: reads the command line, does what it says, and ends with one of the codes of [`exit::Exit`].

mod args;
mod bench;
mod check;
mod exit;
mod frames;
mod modes;
mod panic;
mod pictures;
mod progress;
mod reproduce;
mod run;
mod signals;
mod terminal;
mod threads;

use args::{Cli, Command};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use exit::{Exit, Failure};
use std::process::ExitCode;
use terminal::Manner;

fn main() -> ExitCode {
    let json = std::env::args_os().any(|argument| argument == "--json-errors");
    let done = panic::guard(|| {
        signals::soften()?;
        let exit = match Cli::try_parse() {
            Ok(cli) => {
                terminal::speak(Manner { json: cli.json_errors, quiet: cli.quiet });
                dispatch(cli)?
            }
            Err(error) => answer(&error)?,
        };
        terminal::finish()?;
        Ok(exit)
    });
    let exit = done.unwrap_or_else(|failure| {
        terminal::complain(&if json { failure.to_json() } else { format!("error: {failure}") });
        failure.exit
    });
    ExitCode::from(exit as u8)
}

fn dispatch(cli: Cli) -> Result<Exit, Failure> {
    // First, since loading a scene is work for threads already.
    threads::start(match &cli.command {
        Command::Run(options) => options.pace.threads,
        Command::Resume(options) => options.pace.threads,
        Command::Render(options) => options.threads,
        Command::Bench(options) => options.threads,
        Command::Check(_) | Command::Modes(_) | Command::Schema { .. } | Command::Reproduce(_) => None,
    })?;
    match cli.command {
        Command::Run(options) => run::start(&options, cli.quiet),
        Command::Resume(options) => run::resume(&options, cli.quiet),
        Command::Render(options) => pictures::redraw(&options, cli.quiet),
        Command::Check(options) => check::check(&options),
        Command::Modes(options) => modes::modes(&options),
        Command::Schema { markdown } => check::schema(markdown),
        Command::Reproduce(options) => reproduce::reproduce(&options, reproduce::ALL),
        Command::Bench(options) => bench::bench(&options, bench::ALL),
    }
}

/// Help and version are answers, everything else is a mistake on the command line, told in one line.
fn answer(error: &clap::Error) -> Result<Exit, Failure> {
    let text = error.render().to_string();
    if !error.use_stderr() {
        terminal::say(text.trim_end());
        return Ok(Exit::Ok);
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let commands: Vec<String> = Cli::command().get_subcommands().map(|c| c.get_name().to_owned()).collect();
        let message = format!("a command is missing, one of {}; see bathtub --help", commands.join(", "));
        return Err(Failure::new(Exit::Usage, message));
    }
    // What is wrong and a hint come first, each on its own line; then the usage and where to find help.
    let is_end = |line: &&str| line.starts_with("Usage:") || line.starts_with("For more information");
    let mut message = String::new();
    for line in text.lines().take_while(|line| !is_end(line)).map(str::trim).filter(|line| !line.is_empty()) {
        let joint = if message.is_empty() || message.ends_with(':') { " " } else { "; " };
        message += joint;
        message += line;
    }
    let message = message.trim().trim_start_matches("error: ");
    Err(Failure::new(Exit::Usage, format!("{message}; see --help")))
}
