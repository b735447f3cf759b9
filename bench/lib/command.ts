// A bench as a command: its words read, wrong ones told with its usage, then run.
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { say } from "./report.js";

/** What most benches take: how often, by which Node, and whether a broken promise fails the run. */
export interface CommonOptions {
  readonly isAsserted: boolean;
  readonly samples: number;
  readonly node: string;
}

export function readCommon(words: readonly string[], defaultSamples: number): CommonOptions {
  const { values } = parseArgs({
    args: [...words],
    options: {
      assert: { type: "boolean", default: false },
      samples: { type: "string", default: String(defaultSamples) },
      node: { type: "string", default: process.execPath },
    },
  });
  return {
    isAsserted: values.assert,
    samples: positive("samples", values.samples),
    node: resolve(values.node),
  };
}

export function positive(name: string, given: string): number {
  const number = Number(given);
  if (!Number.isInteger(number) || number < 1) throw new Error(`--${name} ${given} is no positive number`);
  return number;
}

/** Exit code 2 when the words make no sense. */
export async function runBench<Options>(
  usage: string,
  read: (words: readonly string[]) => Options,
  main: (options: Options) => Promise<void>,
): Promise<void> {
  let options: Options;
  try {
    options = read(process.argv.slice(2));
  } catch (error) {
    say(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    process.exitCode = 2;
    return;
  }
  await main(options);
}
