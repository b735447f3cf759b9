// docs/reference/errors.md, from the table of error codes.
import { ERROR_CODES } from "../../src/base/errors.js";
import { cell, code, page, table } from "./markdown.js";

export function errorsPage(): string {
  const rows = Object.entries(ERROR_CODES).map(([name, { cause, recovery }]) => [
    code(name),
    cell(cause),
    cell(recovery),
  ]);
  const intro = [
    "What goes wrong has a code, a message that names the case, and mostly a hint. Commands print the message and the hint,",
    "with `--json` all three; the library throws `TenonError` with `code`, `message` and `hint`; ACP errors carry the code",
    "in `data`.",
  ];
  return page("Error codes", intro, table(["code", "cause", "recovery"], rows));
}
