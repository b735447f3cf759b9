// An ACP client nobody here wrote drives the built agent.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { cleanEnv, TemporaryFolder } from "./agent.js";
import { agentNode, node24, peerFile, TENON } from "./peers.js";
import { runCommand } from "./run-command.js";
import { scenario } from "./scenario.js";

async function acpx(home: TemporaryFolder, approval: "--approve-all" | "--deny-all", prompt: string) {
  const config = join(home.path, "mcp.json");
  const everything = peerFile("@modelcontextprotocol/server-everything", "dist/index.js");
  writeFileSync(
    config,
    JSON.stringify({ mcpServers: [{ name: "everything", command: process.execPath, args: [everything] }] }),
  );
  const agent = `${agentNode()} ${TENON} acp`;
  const args = [
    peerFile("acpx", "dist/cli.js"),
    "--mcp-config",
    config,
    approval,
    "--format",
    "json",
    "--agent",
    agent,
    "exec",
    prompt,
  ];
  return await runCommand(node24(), args, { env: cleanEnv(home.path, { HOME: home.path }), cwd: home.path });
}

scenario(["S2"], "acpx with server-everything given by the client: the echo is in its JSON output", async () => {
  using home = new TemporaryFolder();
  const { code, stdout, stderr } = await acpx(home, "--approve-all", "please echo hi from acpx");
  expect(stderr + stdout).toContain("Echo: hi from acpx");
  expect(code).toBe(0);
});

scenario(["S2", "S17"], "acpx --deny-all: the call is refused and acpx exits 5", async () => {
  using home = new TemporaryFolder();
  const { code, stdout } = await acpx(home, "--deny-all", "please echo hi from acpx");
  expect(stdout).not.toContain("Echo: hi from acpx");
  expect(code).toBe(5);
});
