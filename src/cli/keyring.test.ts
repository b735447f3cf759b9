// The real package in a real process, on a machine without a keyring: what is said, and that nothing is left behind.
import { describe, expect, it } from "vitest";
import type { SpawnRequest } from "../base/ports/world.js";
import { nodeWorld } from "../world/index.js";
import { systemKeyring } from "./secrets.js";

/** No D-Bus to be found, wherever this runs. */
const HEADLESS = { PATH: process.env["PATH"], HOME: "/nonexistent", XDG_RUNTIME_DIR: "/nonexistent" };
/** On other systems the keyring of whoever runs the tests would be used. */
const isLinux = process.platform === "linux";
const never = new AbortController().signal;

function headless(): { readonly keyring: ReturnType<typeof systemKeyring>; readonly spawned: SpawnRequest[] } {
  const real = nodeWorld();
  const spawned: SpawnRequest[] = [];
  const spawn: typeof real.spawn = (request) => {
    spawned.push(request);
    return real.spawn(request);
  };
  return {
    keyring: systemKeyring({ ...real, env: { ...HEADLESS, NODE_OPTIONS: "--no-such-option" }, spawn }),
    spawned,
  };
}

describe.runIf(isLinux)("without a Secret Service", () => {
  it("every use says so, and what to do", async () => {
    const { keyring } = headless();
    const refusal = {
      code: "config.unreadable",
      message: "this machine has no keyring (Secret Service) that can be reached",
      hint: expect.stringMatching(/D-Bus.*use \$\{VAR\}, \{file:path\} or !command instead/u),
    };
    await expect(keyring.get("github", never)).rejects.toMatchObject(refusal);
    await expect(keyring.remove("github", never)).rejects.toMatchObject(refusal);
    await expect(keyring.set("github", "s3cret", never)).rejects.toMatchObject(refusal);
  });
});

describe.runIf(isLinux)("the keyring", () => {
  it("is not touched before it is used, and then gets neither name nor value where processes are listed", async () => {
    const { keyring, spawned } = headless();
    expect(spawned).toEqual([]);
    await keyring.set("github", "s3cret", never).catch(() => undefined);
    expect(spawned).toHaveLength(1);
    expect(JSON.stringify(spawned)).not.toMatch(/github|s3cret|NODE_OPTIONS/u);
  });

  it("is not asked, or asked no longer, when nobody waits any more", async () => {
    const { keyring, spawned } = headless();
    await expect(keyring.get("github", AbortSignal.abort())).rejects.toThrow("could not be asked");
    expect(spawned).toEqual([]);
    const stop = new AbortController();
    const asked = keyring.get("github", stop.signal);
    stop.abort();
    await expect(asked).rejects.toThrow("SIGKILL");
  });
});
