// Secrets of the user's own configuration, from real commands and from a keyring.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { TenonError } from "../base/errors.js";
import { nodeWorld } from "../world/index.js";
import type { Keyring } from "./secrets.js";
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

describe("the keyring", () => {
  const request = { kind: "keyring", name: "github" } as const;
  const { signal } = new AbortController();
  const keyring = (get: Keyring["get"]): Keyring => ({ get, set: async () => {}, remove: async () => false });

  it("gives its entry, or says that there is none", async () => {
    const entries = new Map([["github", "s3cret"]]);
    const resolve = secretResolver(
      nodeWorld(),
      keyring(async (name) => entries.get(name)),
    );
    expect(await resolve(request, signal)).toBe("s3cret");
    expect(await resolve({ kind: "keyring", name: "other" }, signal)).toBeUndefined();
  });

  it("is told of when it fails, with what cures it", async () => {
    const locked = async () => {
      throw new TenonError("config.unreadable", "it is locked", { hint: "Unlock it." });
    };
    await expect(secretResolver(nodeWorld(), keyring(locked))(request, signal)).rejects.toThrow(
      "it is locked. Unlock it.",
    );
  });
});

describe("where one only looks", () => {
  it("nothing is fetched", async () => {
    const { signal } = new AbortController();
    expect(await unaskedSecrets({ kind: "command", command: "touch /never" }, signal)).toBe("not fetched");
    expect(await unaskedSecrets({ kind: "keyring", name: "github" }, signal)).toBe("not fetched");
  });
});
