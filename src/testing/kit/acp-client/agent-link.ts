// The agent at the other end: a process that is spawned, or an app in this very process.
import { spawn } from "node:child_process";
import { PassThrough, Readable, Writable } from "node:stream";
import { setTimeout as realSetTimeout } from "node:timers";
import { type AgentApp, ndJsonStream } from "@agentclientprotocol/sdk";

export interface AgentExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** It had to be killed, since it did not end with its input. */
  readonly wasForced: boolean;
}

export interface AgentLink {
  readonly toAgent: Writable;
  readonly fromAgent: Readable;
  readonly pid: number | undefined;
  readonly exit: Promise<AgentExit>;
  stderr(): string;
  kill(signal: NodeJS.Signals): void;
  /** Also reaches processes that the agent left behind in its group. */
  killGroup(signal: NodeJS.Signals): void;
  /** Ends the agent's input and waits for its end, by force if need be. */
  end(): Promise<AgentExit>;
  dispose(): Promise<void>;
}

export interface AgentCommand {
  readonly command: string;
  readonly args?: readonly string[];
  /** The whole environment of the agent; this process's own when left out. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** How long the agent may take to end once its input has ended. */
  readonly endWithinMs?: number;
}

const DEFAULT_END_WITHIN_MS = 10_000;
/** How long the output of an agent that is gone may stay open: a process it left behind can hold it for ever. */
const LAST_OUTPUT_MS = 1_000;

/** The agent leads a process group of its own, as under an editor, and so that it can be killed as a whole. */
export function processLink(agent: AgentCommand): AgentLink {
  const { command, args = [], env = process.env, cwd, endWithinMs = DEFAULT_END_WITHIN_MS } = agent;
  const child = spawn(command, args, { env, detached: true, stdio: "pipe", ...(cwd !== undefined && { cwd }) });
  const stderr: Uint8Array[] = [];
  let wasForced = false;
  child.stderr.on("data", (chunk: Uint8Array) => stderr.push(chunk));
  const exit = new Promise<AgentExit>((resolve) => {
    child.on("error", (error) => {
      stderr.push(Buffer.from(`${error.message}\n`));
      resolve({ code: null, signal: null, wasForced });
    });
    // `exit`, not `close`: a grandchild that holds the pipes must not hide that the agent is gone.
    child.once("exit", (code, signal) => {
      if (!child.stdout.closed) {
        const timer = realSetTimeout(() => child.stdout.destroy(), LAST_OUTPUT_MS);
        child.stdout.once("close", () => clearTimeout(timer));
      }
      resolve({ code, signal, wasForced });
    });
  });
  const killGroup = (signal: NodeJS.Signals) => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // nobody is left in the group
    }
  };
  return {
    toAgent: child.stdin,
    fromAgent: child.stdout,
    pid: child.pid,
    exit,
    stderr: () => Buffer.concat(stderr).toString("utf8"),
    kill: (signal) => child.kill(signal),
    killGroup,
    end: () => {
      child.stdin.end();
      return orForced(exit, endWithinMs, () => {
        wasForced = true;
        killGroup("SIGKILL");
      });
    },
    dispose: async () => {
      for (const stream of child.stdio) stream?.destroy();
    },
  };
}

async function orForced(exit: Promise<AgentExit>, withinMs: number, force: () => void): Promise<AgentExit> {
  const timer = realSetTimeout(force, withinMs);
  const ended = await exit;
  clearTimeout(timer);
  return ended;
}

/** Over byte streams too, so that raw lines and the record work as they do with a process. */
export function appLink(app: AgentApp): AgentLink {
  const toAgent = new PassThrough();
  const fromAgent = new PassThrough();
  const connection = app.connect(ndJsonStream(Writable.toWeb(fromAgent), Readable.toWeb(toAgent)));
  connection.signal.addEventListener("abort", () => fromAgent.end(), { once: true });
  return streamsLink({ toAgent, fromAgent });
}

export interface AgentStreams {
  readonly toAgent: Writable;
  /** Must end when the agent has ended. */
  readonly fromAgent: Readable;
  readonly endWithinMs?: number;
}

/** For an agent that serves a pair of streams in this process, whatever it is built on. */
export function streamsLink(streams: AgentStreams): AgentLink {
  const { toAgent, fromAgent, endWithinMs = DEFAULT_END_WITHIN_MS } = streams;
  let wasForced = false;
  const exit = new Promise<AgentExit>((resolve) => {
    fromAgent.once("close", () => resolve({ code: null, signal: null, wasForced }));
  });
  return {
    toAgent,
    fromAgent,
    pid: undefined,
    exit,
    stderr: () => "",
    kill: () => fromAgent.destroy(),
    killGroup: () => {},
    end: () => {
      toAgent.end();
      return orForced(exit, endWithinMs, () => {
        wasForced = true;
        fromAgent.destroy();
      });
    },
    dispose: async () => {},
  };
}
