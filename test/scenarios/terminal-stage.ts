// What scenarios of the terminal interface share: a chat with a scripted model in tmux, its kept screens, and what the model was sent.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type Answer, answerText, type FakeProvider } from "../../src/testing/lab/index.js";
import type { TemporaryFolder } from "./agent.js";
import { expectGolden, normalised } from "./golden.js";
import { type TmuxOptions, TmuxTerminal } from "./tmux.js";

export const MODEL = { TENON_MODEL: "openai-compatible/m" };

/** A chat with a scripted model, in a project unless another folder is given: its path is as long on every machine. */
export async function openChat(
  home: TemporaryFolder,
  provider: FakeProvider,
  options: TmuxOptions = {},
): Promise<TmuxTerminal> {
  const env = { ...MODEL, TENON_BASE_URL: provider.url, ...options.env };
  const terminal = await TmuxTerminal.start(home, { cwd: projectIn(home), ...options, env });
  await terminal.ready();
  return terminal;
}

export function expectScreen(name: string, screen: string, home: TemporaryFolder): void {
  const shown = normalised(screen, [
    { of: home.path, by: "<home>" },
    { of: /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]+/gu, by: "<session>" },
    { of: /session-[0-9a-f]{8}/gu, by: "<grant>" },
    { of: /\d+(?:\.\d+)?k? tokens(?:, \$[\d.]+)?/gu, by: "<n> tokens" },
    { of: /context \d+%/gu, by: "context <n>%" },
    { of: /[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/gu, by: "*" },
  ]);
  expectGolden(`terminal/${name}.txt`, `${shown}\n`);
}

/** Everything the model was sent with the last request. */
export function lastRequest(provider: FakeProvider): string {
  return JSON.stringify(provider.requests.at(-1)?.body);
}

/** A project that is not Tenon's own folder, whose files are protected. */
export function projectIn(home: TemporaryFolder, name = "project"): string {
  const path = join(home.path, name);
  mkdirSync(path, { recursive: true });
  return path;
}

export const DONE: Answer = answerText("Done.");
