// MCP's own conformance suite, driven through our connections. All of it is `npm run conformance`; this is a sample of it.
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

scenario(["M9"], "a sample of the MCP conformance suite passes in both requirement sets", async () => {
  using home = new TemporaryFolder();
  const args = ["--import", "tsx", "scripts/conformance.ts", "--only", SAMPLE.join(",")];
  const { code, stdout, stderr } = await runCommand(process.execPath, args, { cwd: ROOT, env: cleanEnv(home.path) });
  expect(stdout, stderr).toContain("13 passed, 0 failed as expected, 0 wrong");
  expect(code, stderr).toBe(0);
});
