// The faults that `npm run check:walls` plants, each with the step that must catch it and the words it must use.

export interface Fault {
  readonly name: string;
  /** The step of `npm run check` that is responsible. */
  readonly step: string;
  readonly file: string;
  /** New text of the file, made from the old one (empty when there was none). */
  plant(old: string): string;
  /** Words in the step's output that show it failed because of this fault. */
  readonly reason: RegExp;
}

const JOB = "// A planted fault.\n";

export const FAULTS: readonly Fault[] = [
  {
    name: "forbidden import",
    step: "walls",
    file: "src/base/planted.ts",
    plant: () => `${JOB}export { connectServer } from "../mcp/index.js";\n`,
    reason: /src\/base\/planted\.ts:2: the room base must not import the room mcp/,
  },
  {
    name: "door bypassed",
    step: "walls",
    file: "src/session/planted.ts",
    plant: () => `${JOB}import type { ServerSpec } from "../mcp/spec.js";\nexport type Planted = ServerSpec;\n`,
    reason: /src\/session\/planted\.ts:2: enters the room mcp past its door/,
  },
  {
    name: "forbidden package",
    step: "walls",
    file: "src/engine/planted.ts",
    plant: () => `${JOB}export { z } from "zod";\n`,
    reason: /src\/engine\/planted\.ts:2: the room engine must not touch the package zod/,
  },
  {
    name: "world bypassed",
    step: "walls",
    file: "src/mcp/planted.ts",
    plant: () => `${JOB}export const planted: number = Date.now();\n`,
    reason: /src\/mcp\/planted\.ts:2: uses Date\.now/,
  },
  {
    name: "unmarked path to a model",
    step: "walls",
    file: "src/session/planted.ts",
    plant: () =>
      `${JOB}export const planted = (words: string): unknown => ({ role: "user", content: [{ type: "text", text: words }] });\n`,
    reason: /src\/session\/planted\.ts:2: unmarked path to a model/,
  },
  {
    name: "unmarked content in a conversation",
    step: "types",
    file: "src/session/conversation/expansion.ts",
    plant: (old) => old.replace("content: await this.#attach(content, signal)", "content"),
    reason: /src\/session\/expansion\.ts\(\d+,\d+\): error TS\d+[\s\S]*MarkedContent/,
  },
  {
    name: "two-function then",
    step: "walls",
    file: "src/mcp/planted.ts",
    plant: () =>
      `${JOB}export function planted(work: Promise<void>, tell: () => void): void {\n  work.then(tell, tell);\n}\n`,
    reason: /src\/mcp\/planted\.ts:3: un-owned promise: what the functions given to then/,
  },
  {
    name: "un-owned promise in a field",
    step: "walls",
    file: "src/session/configuration.ts",
    plant: (old) => old.replace("this.#open().catch((error: unknown) => this.#fail(error))", "this.#open()"),
    reason: /src\/session\/configuration\.ts:\d+: un-owned promise: nobody hears of a rejection of this\.#opened/,
  },
  {
    name: "emitter without error listener",
    step: "walls",
    file: "src/world/files.ts",
    plant: (old) => old.replace('watcher.on("error", () => this.#poll());', ""),
    reason: /src\/world\/watch\.ts:\d+: watchFolder\(\) makes an emitter without a listener for "error"/,
  },
  {
    name: "regular expression from outside",
    step: "walls",
    file: "src/tools/planted.ts",
    plant: () => `${JOB}export const planted = (glob: string): RegExp => new RegExp(glob, "u");\n`,
    reason: /src\/tools\/planted\.ts:2: builds a regular expression at run time/,
  },
  {
    name: "exponential regular expression",
    step: "walls",
    file: "src/mcp/planted.ts",
    plant: () => `${JOB}export const PLANTED: RegExp = /^(a+)+$/u;\n`,
    reason: /src\/mcp\/planted\.ts:2: repeats what is repeated already/,
  },
  {
    name: "folders that import each other",
    step: "walls",
    file: "src/mcp/rpc/planted.ts",
    plant: () =>
      `${JOB}import type { CallOptions } from "../protocol/call.js";\n\nexport type Planted = CallOptions;\n`,
    reason: /src\/mcp\/rpc\/planted\.ts imports src\/mcp\/protocol\/call\.ts/,
  },
  {
    name: "private word",
    step: "walls",
    file: "src/base/planted.ts",
    plant: () => `${JOB}export const plantedShelf = 1;\n`,
    reason: /src\/base\/planted\.ts: plantedShelf/,
  },
  {
    name: "601 lines",
    step: "walls",
    file: "src/base/planted.ts",
    plant: () => JOB + "// One line more.\n".repeat(600),
    reason: /src\/base\/planted\.ts:1: 601 lines, the gate is 600/,
  },
  {
    name: "uncited requirement",
    step: "walls",
    file: "test/requirements.ts",
    plant: (old) => old.replace("] as const;", '  { id: "Z1", text: "planted: nobody shows this" },\n] as const;'),
    reason: /Z1 is cited by no scenario/,
  },
  {
    name: "unknown requirement",
    step: "walls",
    file: "test/scenarios/planted.test.ts",
    plant: () => `${JOB}import { scenario } from "./scenario.js";\n\nscenario(["Z2"], "planted", async () => {});\n`,
    reason: /"Z2"/,
  },
  {
    name: "unused export",
    step: "dead-code",
    file: "src/base/id.ts",
    plant: (old) => `${old}\nexport function plantedUnused(): void {}\n`,
    reason: /plantedUnused/,
  },
  {
    name: "floating promise",
    step: "lint",
    file: "src/base/planted.ts",
    plant: () => `${JOB}export function planted(work: () => Promise<void>): void {\n  work();\n}\n`,
    reason: /no-floating-promises[\s\S]*src\/base\/planted\.ts:3/,
  },
  {
    name: "format",
    step: "format",
    file: "src/base/planted.ts",
    plant: () => `${JOB}export const planted: string='single quotes, no spaces'\n`,
    reason: /src\/base\/planted\.ts format/,
  },
  {
    name: "type error",
    step: "types",
    file: "src/base/planted.ts",
    plant: () => `${JOB}export const planted: number = "text";\n`,
    reason: /src\/base\/planted\.ts\(2,14\): error TS2322/,
  },
  {
    name: "heavy start",
    step: "build",
    file: "src/cli/main.ts",
    plant: (old) => old.replace(/^(#!.*\n)?/, '$1import { z } from "zod";\nprocess.exitCode = z.int().parse(0);\n'),
    reason: /modules that must be lazy[\s\S]*zod/,
  },
  {
    name: "broken package",
    step: "package",
    file: "package.json",
    plant: (old) => old.replace('"./package.json":', '"./planted": "./dist/planted.js",\n    "./package.json":'),
    reason: /dist\/planted\.js/,
  },
];
