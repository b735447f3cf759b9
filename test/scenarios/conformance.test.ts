// MCP's own conformance suite, through our connections and through `tenon acp`. All of it is `npm run conformance`; this is a sample.
import { join } from "node:path";
import { expect } from "vitest";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

const ROOT = join(import.meta.dirname, "../..");
/** One of each: a handshake, calls in both eras, resumed streams, headers made from a tool's schema, and log-ins. */
const SAMPLE = [
  ...["initialize", "tools_call", "sse-retry", "http-custom-headers"],
  ...["auth/scope-step-up", "auth/authorization-server-migration"],
  ...["auth/client-credentials-jwt", "auth/enterprise-managed-authorization"],
  ...["auth/2025-03-26-oauth-endpoint-fallback"],
];

async function conformance(...options: string[]): Promise<string> {
  using home = new TemporaryFolder();
  const args = ["--import", "tsx", "scripts/conformance.ts", ...options];
  const { code, stdout, stderr } = await runCommand(process.execPath, args, { cwd: ROOT, env: cleanEnv(home.path) });
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  return stdout;
}

scenario(["M9"], "a sample of the MCP conformance suite passes in both requirement sets", async () => {
  expect(await conformance("--only", SAMPLE.join(","))).toContain("13 passed, 0 failed as expected, 0 wrong");
});

scenario(["N950"], "a sample of it passes through tenon acp, nulls among the arguments included", async () => {
  expect(await conformance("--ci", "--through", "acp")).toContain("8 passed, 0 failed as expected, 0 wrong");
});

scenario(["V312"], "a sample of the server scenarios passes against tenon mcp serve", async () => {
  expect(await conformance("--ci", "--server")).toContain("12 passed, 0 failed as expected, 0 wrong");
});
