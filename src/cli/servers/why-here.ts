// `tenon mcp why`: opens a session as an editor would here, without a model, and asks it what became of a tool.
import { join } from "node:path";
import { tenonPaths } from "../../config/index.js";
import { createRuntime, type Model, type WhyAnswer } from "../../index.js";
import type { CommandContext } from "../configuration/context.js";
import { personalGrants } from "../login/grants.js";
import { secretResolver } from "../secrets.js";

/** Calls nothing: only what comes before its first answer is wanted. */
const SILENT: Model = {
  id: "none/silent",
  async *stream() {
    yield { kind: "text", text: "…" };
    yield { kind: "finish", reason: "stop" };
  },
};

/**
 * Starts the servers that a session here would start, which are those the person trusts; nobody is asked anything. With a
 * prompt, what it would choose is looked at too. The session is a passing one, kept apart from those that can be resumed.
 */
export async function whyHere(
  tool: string,
  prompt: string | undefined,
  { world, cwd }: CommandContext,
): Promise<WhyAnswer> {
  const number = Buffer.from(world.randomBytes(8)).toString("hex");
  const stateDir = join(tenonPaths(world.env).cacheDir, "why", number);
  try {
    await using runtime = createRuntime({
      world,
      model: SILENT,
      stateDir,
      config: { resolveSecret: secretResolver(world) },
      grants: personalGrants(world),
    });
    const session = runtime.createSession({ cwd });
    await session.prompt(prompt ?? "/mcp"); // either waits for the servers
    return session.tools.why(tool);
  } finally {
    await world.files.remove(stateDir);
  }
}
