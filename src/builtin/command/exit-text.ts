// How a command ended and what it printed, in words for the model.
import { stripVTControlCharacters } from "node:util";
import { unreachable } from "../../base/id.js";
import type { CommandExit } from "../ports.js";

export function exitText(exit: CommandExit): string {
  switch (exit.kind) {
    case "exited":
      return exit.signal === null ? `exit code ${exit.code ?? "unknown"}` : `ended by ${exit.signal}`;
    case "not_started":
      return `it could not be started: ${exit.reason}`;
    case "cut_off":
      return exit.reason;
    default:
      return unreachable(exit);
  }
}

export function isSuccess(exit: CommandExit): boolean {
  return exit.kind === "exited" && exit.code === 0;
}

/** What a terminal would show in the end: no colours, and of a line that was written over only its last state. */
export function terminalText(output: string): string {
  return stripVTControlCharacters(output)
    .split("\n")
    .map((line) => {
      let end = line.length;
      while (end > 0 && line[end - 1] === "\r") end -= 1;
      return end === 0 ? "" : line.slice(line.lastIndexOf("\r", end - 1) + 1, end);
    })
    .join("\n");
}
