// Where the gateway listens, and which folders it refuses.
import { Buffer } from "node:buffer";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { nodeWorld } from "../world/index.js";
import { gatewaySocketPath, socketFolderProblem } from "./socket-path.js";

test("the runtime directory first, else the state directory, else a short place in the temporary directory", () => {
  const state = "/home/me/.local/state/tenon";
  expect(gatewaySocketPath({ env: { XDG_RUNTIME_DIR: "/run/user/1" } }, state)).toMatch(
    /^\/run\/user\/1\/tenon\/gateway-[0-9a-f]{16}\.sock$/,
  );
  expect(gatewaySocketPath({ env: { XDG_RUNTIME_DIR: "relative" } }, state)).toBe(`${state}/gateway/gateway.sock`);
  const long = `/${"x".repeat(120)}`;
  for (const env of [{}, { TMPDIR: "relative" }, { TMPDIR: "/tmp", XDG_RUNTIME_DIR: long }, { TMPDIR: long }]) {
    const path = gatewaySocketPath({ env }, long);
    expect(path).toMatch(/^\/tmp\/tenon-[0-9a-f]{16}\/gateway\.sock$/);
    expect(Buffer.byteLength(path)).toBeLessThanOrEqual(100);
  }
  expect(gatewaySocketPath({ env: {} }, long)).not.toBe(gatewaySocketPath({ env: {} }, `${long}y`));
});

test("a folder that is a link, missing, open to others or another user's is refused with the reason", async () => {
  const place = mkdtempSync(join(tmpdir(), "tenon-socket-"));
  onTestFinished(() => rmSync(place, { recursive: true, force: true }));
  const { files } = nodeWorld({ env: {} });
  const problem = (folder: string) => socketFolderProblem({ files }, join(place, folder, "gateway.sock"));
  mkdirSync(join(place, "ours"), { mode: 0o700 });
  expect(await problem("ours")).toBeUndefined();
  symlinkSync(join(place, "ours"), join(place, "link"));
  expect(await problem("link")).toContain("is a link");
  expect(await problem("none")).toContain("is not there");
  chmodSync(join(place, "ours"), 0o750);
  expect(await problem("ours")).toContain("mode 750");
  const foreign = {
    ...files,
    find: async (path: string) => {
      const found = await files.find(path);
      return found && { ...found, foreignOwner: 4_711 };
    },
  };
  expect(await socketFolderProblem({ files: foreign }, join(place, "ours", "gateway.sock"))).toContain("user 4711");
  expect(dirname(place)).toBe(tmpdir());
});
