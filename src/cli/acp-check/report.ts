// The results for people: a line per check as it ends, and at the end what the failed ones mean.
import type { CommandContext } from "../context.js";
import { formatElapsed } from "../terminal/stream.js";
import { clipToWidth, visible } from "../terminal/text.js";
import type { Introduction } from "./agent.js";
import type { CheckResult } from "./check.js";
import { CHECKS } from "./checks/index.js";
import type { ModelUse } from "./run.js";

type Style = Pick<CommandContext, "palette" | "columns">;

const ID_WIDTH = Math.max(...CHECKS.map(({ id }) => id.length));
const TIME_WIDTH = 7;

export function headLines({ name, version, kinds }: Introduction, model: ModelUse, { palette }: Style): string[] {
  const servers = ["stdio", ...kinds].join(", ");
  const used = model.isUsed ? `asks the model of this check (${model.format})` : `no model: ${visible(model.why)}`;
  return [palette.bold(`${visible(name)} ${visible(version)}`), `  servers: ${servers}; ${used}`, ""];
}

export function resultLine({ id, status, evidence, ms }: CheckResult, { palette, columns }: Style): string {
  const paint = { pass: palette.green, fail: palette.red, skip: palette.dim }[status];
  const time = (status === "skip" ? "" : formatElapsed(ms)).padStart(TIME_WIDTH);
  const rest = clipToWidth(`${id.padEnd(ID_WIDTH)} ${time}  ${visible(evidence)}`, columns - status.length - 2);
  return `${paint(status)}  ${rest}`;
}

export function endLines(results: readonly CheckResult[], { palette }: Style): string[] {
  const failed = results.filter(({ status }) => status === "fail");
  const count = (status: CheckResult["status"]) => results.filter((one) => one.status === status).length;
  const lines = failed.flatMap(({ id, title, why, evidence }) => [
    "",
    `${palette.red("fail")}  ${palette.bold(id)}: ${title}`,
    `      ${visible(evidence)}`,
    `      ${palette.dim(why)}`,
  ]);
  return [...lines, "", `${count("pass")} passed, ${count("fail")} failed, ${count("skip")} skipped`];
}

export function listLines({ palette }: Style): string[] {
  return CHECKS.flatMap(({ id, title, why }) => [
    `${id.padEnd(ID_WIDTH)}  ${title}`,
    palette.dim(`${" ".repeat(ID_WIDTH)}  ${why}`),
  ]);
}
