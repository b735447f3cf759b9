// The process these commands run in, as their context.

import { createInterface } from "node:readline";
import { defined } from "../../base/json/defined.js";
import { nodeWorld } from "../../world/index.js";
import { chooseLog } from "../log.js";
import { createPalette } from "../terminal/palette.js";
import { columnsOf, mayColor } from "../terminal/stream.js";
import type { CommandContext } from "./context.js";

export function realContext(): CommandContext {
  const { stdin, stdout, stderr, env } = process;
  const isAttended = stdin.isTTY === true && stdout.isTTY === true;
  return {
    world: nodeWorld({ log: chooseLog("error") }),
    cwd: process.cwd(),
    output: stdout,
    errorOutput: stderr,
    columns: columnsOf(stdout),
    palette: createPalette(mayColor(stdout, env)),
    ...defined({ ask: isAttended ? ask : undefined }),
  };
}

/** Undefined when the input ends instead. */
async function ask(question: string): Promise<string | undefined> {
  const reader = createInterface({ input: process.stdin, output: process.stdout });
  return await new Promise((resolve) => {
    reader.once("close", () => resolve(undefined));
    reader.question(question, (answer) => {
      resolve(answer);
      reader.close();
    });
  });
}
