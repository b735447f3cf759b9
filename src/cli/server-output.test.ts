// What servers say is kept by lines, without their secrets, and never more of it than the bound.
import { expect, test } from "vitest";
import { fakeWorld } from "../testing/index.js";
import { CLI_LIMITS } from "./limits.js";
import { heardOutput, outputFile, outputFiles } from "./server-output.js";

const SPEC = { kind: "stdio", name: "s", command: "run", args: [], env: { API_TOKEN: "hunter2-and-more" } } as const;
const OWNER = { spec: SPEC, origin: "user" } as const;
const ENV = { HOME: "/home/me", TENON_HOME: "/t" };

test("lines are whole, however they come, and secrets are taken out before they are written", async () => {
  const world = fakeWorld({ env: ENV });
  const sink = outputFiles(world).open(OWNER);
  for (const part of ["one ", "line\ntoken hunter2", "-and-more\n", "no end"]) sink.stderr(Buffer.from(part));
  sink.log({ level: "warning", logger: "db", text: "slow" });
  await world.clock.advance(CLI_LIMITS.logFlushMs);
  const text = await world.files.readText(outputFile(world, { name: "s", origin: "user" }));
  const lines = text.split("\n").map((line) => line.replace(/^\S+ /u, ""));
  expect(lines).toEqual(["stderr: one line", "stderr: token [redacted]", "warning db: slow", ""]);
});

test("the file is cut to its newer half when it is too long", async () => {
  const world = fakeWorld({ env: ENV });
  const sink = outputFiles(world).open(OWNER);
  const line = `${"x".repeat(1_000)}\n`;
  for (let at = 0; at < (2 * CLI_LIMITS.logFileBytes) / line.length; at++) {
    sink.stderr(Buffer.from(line));
    await world.clock.advance(CLI_LIMITS.logFlushMs);
  }
  const path = outputFile(world, { name: "s", origin: "user" });
  const text = await world.files.readText(path);
  expect(text.length).toBeLessThan(1.25 * CLI_LIMITS.logFileBytes);
  expect(text.startsWith("20") || text.startsWith("19")).toBe(true);
});

test("a project's server has another file than the user's of the same name", () => {
  const world = fakeWorld({ env: ENV });
  const files = [
    outputFile(world, { name: "a/../b", origin: "user" }),
    outputFile(world, { name: "a/../b", origin: "project", project: "/p" }),
    outputFile(world, { name: "a/../b", origin: "project", project: "/q" }),
  ];
  expect(new Set(files).size).toBe(3);
  for (const file of files) expect(file).toMatch(/^\/t\/state\/server-logs\/a____b-[0-9a-f]{12}\.log$/u);
});

test("the end of it is at hand, without secrets that come in two pieces", () => {
  const { output, tail } = heardOutput(fakeWorld({ env: ENV }));
  const sink = output.open(OWNER);
  sink.stderr(Buffer.from("the token hunter2-"));
  sink.stderr(Buffer.from("and-more is refused\n"));
  expect(tail()).toBe("the token [redacted] is refused");
});

test("a private key is taken out line by line, whether it is known or not", async () => {
  const world = fakeWorld({ env: ENV });
  const { output, tail } = heardOutput(world);
  const known = ["AAAAknownline1", "BBBBknownline2"].join("\n");
  const sink = output.open({ ...OWNER, spec: { ...SPEC, env: { DEPLOY: known } } });
  const lines = [
    "-----BEGIN PRIVATE KEY-----",
    "MIIBOgIBAAJBAKj34",
    "90vcNLYLInFEX6Pp",
    "-----END PRIVATE KEY-----",
    "after",
  ];
  for (const line of [...lines, ...known.split("\n")]) sink.stderr(Buffer.from(`${line}\n`));
  for (const line of lines) sink.log({ level: "info", text: line });
  await world.clock.advance(CLI_LIMITS.logFlushMs);
  const kept = await world.files.readText(outputFile(world, { name: "s", origin: "user" }));
  for (const text of [kept, tail()]) {
    expect(text).not.toMatch(/MIIB|90vc|knownline/u);
    expect(text).toContain("after");
  }
});
