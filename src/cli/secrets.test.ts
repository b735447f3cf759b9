// Secrets of the user's own configuration, from real commands.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { nodeWorld } from "../world/index.js";
import { secretResolver, unaskedSecrets } from "./secrets.js";

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "tenon-secrets-"));
});
afterEach(() => rmSync(home, { recursive: true }));

async function secret(command: string, signal = new AbortController().signal): Promise<string | undefined> {
  const world = { ...nodeWorld(), env: { PATH: process.env["PATH"], TENON_HOME: home, GIVEN: "given" } };
  return await secretResolver(world)({ kind: "command", command }, signal);
}

describe("a command", () => {
  it("gives what it prints, trimmed, with the person's environment and in the folder of their configuration", async () => {
    expect(await secret("printf '  two words \\n\\n'")).toBe("two words");
    expect(await secret("echo $GIVEN")).toBe("given");
    expect(await secret("basename $(pwd)")).toBe(home.split("/").at(-1));
    expect(await secret("cat; echo read-to-the-end")).toBe("read-to-the-end");
    expect(await secret("true")).toBeUndefined();
  });

  it("is told of when it fails, with what it complained about but not with what it printed", async () => {
    const failure = secret("echo hunter2; echo 'vault is locked' >&2; exit 3");
    await expect(failure).rejects.toThrow("it exited with 3: vault is locked");
    await expect(failure).rejects.not.toThrow("hunter2");
    await expect(secret("kill -9 $$")).rejects.toThrow("SIGKILL");
    await expect(secret("head -c 100000 /dev/zero")).rejects.toThrow("more than 65536 bytes");
  });

  it("is ended with all it started when nobody waits any more", async () => {
    const stop = new AbortController();
    const asked = secret("sleep 600 & sleep 600", stop.signal);
    stop.abort();
    await expect(asked).rejects.toThrow("SIGKILL");
  });
});

describe("what is not there", () => {
  it("is said of the keyring", async () => {
    const request = { kind: "keyring", name: "github" } as const;
    const { signal } = new AbortController();
    await expect(secretResolver(nodeWorld())(request, signal)).rejects.toThrow("not available in this version");
    await expect(unaskedSecrets(request, signal)).rejects.toThrow("not available in this version");
  });

  it("is not fetched where one only looks", async () => {
    const { signal } = new AbortController();
    expect(await unaskedSecrets({ kind: "command", command: "touch /never" }, signal)).toBe("not fetched");
  });
});
