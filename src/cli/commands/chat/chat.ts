// `tenon chat`: draws the terminal at once, then loads and composes the agent behind it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defined } from "../../../base/json/defined.js";
import { possiblePaths } from "../../../config/index.js";
import { misused, type Run, type Values } from "../../command.js";
import { type CommandContext, optionPath, useAgentDirectory } from "../../context.js";
import { EXIT } from "../../exit.js";
import { CLI_LIMITS } from "../../limits.js";
import { providerVariables } from "../../provider-variables.js";
import { InputHistory } from "../../terminal/live/history.js";
import { LiveTerminal } from "../../terminal/live/live-terminal.js";
import { createPalette, mayColor, systemClock } from "../../terminal/stream.js";

export type ChatValues = Values<
  "yes" | "json" | "plain" | "continue" | "resume" | "lines",
  "prompt" | "config" | "mcp-config" | "model" | "trace"
>;

export const runChatCommand: Run<ChatValues> = async ({ values, words }, given) => {
  const context = plainContext(given, values, process.env);
  const { json = false, config: directory } = values;
  const place = { world: context.world, from: context.cwd };
  if (directory !== undefined) useAgentDirectory(optionPath("--config", directory, place));
  const asked = readWords(values, words);
  const isTty = process.stdin.isTTY === true && process.stdout.isTTY === true;
  const piped =
    isTty || values.lines || process.stdin.isTTY ? "" : await readPiped(process.stdin, values.prompt === undefined);
  const prompt = promptOf({ values, asked, piped, isTty });
  const isLive = isTty && !json && !context.isPlain;
  const isAsked = isTty && prompt === undefined && !json && values.model === undefined;
  if (isAsked && mayLackModel(process.env)) {
    const { firstRun, lacksModel } = await import("../login/login.js");
    if (await lacksModel(context)) await firstRun(context);
  }
  const live = isLive ? openLive(prompt === undefined) : undefined;
  // Everything heavy comes after the first picture.
  const { startChat } = await import("./start.js");
  const first = isTty && prompt === undefined ? asked.text : undefined;
  return await startChat({ values, context, isTty, ...defined({ live, prompt, first, id: asked.id }) });
};

/** A look that costs nothing, so that the first picture of all others is not later: no key in sight, and none in the file. */
function mayLackModel(env: NodeJS.ProcessEnv): boolean {
  if (env["TENON_MODEL"] || providerVariables(env).length > 0) return false;
  const { configFile } = possiblePaths(env);
  try {
    return configFile === undefined || !/"(?:model|providers)"\s*:/u.test(readFileSync(configFile, "utf8"));
  } catch {
    return true; // there is none yet
  }
}

export interface PlainContext extends CommandContext {
  readonly isPlain: boolean;
}

/** A terminal that cannot move its cursor, or a person who listens to it, gets no escape sequence: no colour either. */
export function plainContext(
  context: CommandContext,
  { plain = false }: { readonly plain?: boolean | undefined },
  env: NodeJS.ProcessEnv,
): PlainContext {
  const isPlain = plain || env["TERM"] === "dumb" || Boolean(env["TENON_PLAIN"]);
  return { ...context, isPlain, ...(isPlain ? { palette: createPalette(false) } : {}) };
}

/** Draws the input line; what is typed from now on is kept until the agent is there. */
export function openLive(hasInputLine: boolean): LiveTerminal {
  const { stateDir } = possiblePaths(process.env);
  const live = new LiveTerminal({
    input: process.stdin,
    output: process.stdout,
    palette: createPalette(mayColor(process.stdout, process.env)),
    clock: systemClock,
    history: new InputHistory(stateDir === undefined ? undefined : join(stateDir, "chat-history.ndjson")),
    hasInputLine,
  });
  live.status = () => "starting…";
  live.onKey = (name) => {
    if (name !== "ctrl-c") return;
    live.stop();
    process.exit(EXIT.interrupted);
  };
  process.once("exit", () => live.stop());
  live.start();
  return live;
}

interface Asked {
  readonly id?: string;
  readonly text?: string;
}

const SESSION_ID = /^[0-9a-f]{4}[0-9a-f-]*$/iu;

/** `--resume ID words…`: the first word is an id if it looks like one. */
function readWords(values: ChatValues, words: readonly string[]): Asked {
  const { prompt, resume = false, continue: isLast = false } = values;
  if (resume && isLast) throw misused("use --continue or --resume, not both");
  const [first = ""] = words;
  const id = resume && SESSION_ID.test(first) ? first : undefined;
  const text = words.slice(id === undefined ? 0 : 1).join(" ");
  if (prompt !== undefined && text !== "") throw misused("say the prompt once: behind -p, or as words");
  if (prompt !== undefined && prompt.trim() === "") throw misused("-p TEXT is empty: say what to answer");
  return defined({ id, text: text.trim() === "" ? undefined : text });
}

/** What is answered once: of `-p`, of words where nobody sits at the terminal, and what was piped in, below them. */
function promptOf(about: {
  readonly values: ChatValues;
  readonly asked: Asked;
  readonly piped: string;
  readonly isTty: boolean;
}): string | undefined {
  const { values, asked, piped, isTty } = about;
  const words = values.prompt ?? (isTty || values.lines ? undefined : asked.text);
  if (values.lines) {
    if (words !== undefined) throw misused("--lines takes its prompts from the input: leave -p out");
    return undefined;
  }
  if (words === undefined && isTty) return undefined;
  const parts = [words ?? "", piped.trimEnd()].filter((part) => part.trim() !== "");
  if (parts.length === 0) throw misused("there is no prompt: type one behind -p, or pipe it in");
  return parts.join("\n\n");
}

/** An input that stays silent is waited for only where there is no other prompt: whoever starts `-p` may never close it. */
async function readPiped(input: NodeJS.ReadableStream, isNeeded: boolean): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return await new Promise((resolve, reject) => {
    const done = () => {
      stopTimer();
      resolve(Buffer.concat(chunks).toString("utf8"));
    };
    const stopTimer = isNeeded
      ? () => {}
      : systemClock.after(CLI_LIMITS.pipedMs, () => {
          process.stderr.write("No input came; going on without it.\n");
          input.pause();
          process.stdin.unref();
          resolve("");
        });
    input.on("data", (chunk: string | Buffer) => {
      stopTimer();
      const piece = Buffer.from(chunk);
      bytes += piece.length;
      if (bytes <= CLI_LIMITS.pipedBytes) chunks.push(piece);
      else
        reject(
          misused(`the piped input is longer than ${CLI_LIMITS.pipedBytes} bytes: name a file in the prompt instead`),
        );
    });
    input.once("end", done);
    input.once("error", done);
  });
}
