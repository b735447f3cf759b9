// A value no one else shall see: typed without echo at a terminal, or everything that is piped in.
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { Writable } from "node:stream";
import { TenonError } from "../../base/errors.js";
import { LIMITS } from "../../base/limits.js";

export interface SecretSource {
  readonly input: Readable;
  /** Whether a person types into it. */
  readonly isTerminal: boolean;
  /** Where the question goes. */
  readonly output: NodeJS.WritableStream;
}

/** Undefined when the person ended the input or interrupted it. */
export async function readSecretValue(question: string, source: SecretSource): Promise<string | undefined> {
  return source.isTerminal ? await typed(question, source) : await piped(source.input);
}

/** With a terminal on one side only, readline edits the line and has nowhere to show it. */
async function typed(question: string, { input, output }: SecretSource): Promise<string | undefined> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input, output: nowhere, terminal: true, historySize: 0 });
  output.write(question);
  try {
    return await new Promise<string | undefined>((resolve) => {
      reader.once("line", resolve);
      reader.once("close", () => resolve(undefined)); // also by Ctrl-C and Ctrl-D
    });
  } finally {
    reader.close();
    output.write("\n");
  }
}

async function piped(input: Readable): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    const part = Buffer.from(chunk);
    bytes += part.length;
    // Two more for the end of its line.
    if (bytes > LIMITS.configValueMaxBytes + 2) {
      const message = `what is piped in is longer than ${LIMITS.configValueMaxBytes} bytes`;
      throw new TenonError("config.invalid", message, { hint: "Pipe in the value alone." });
    }
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
