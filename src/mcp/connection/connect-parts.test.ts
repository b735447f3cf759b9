// What speaks HTTP is loaded with the first server that is reached so; where it cannot be loaded, that server fails with words.
import { expect, test, vi } from "vitest";
import { fakeWorld } from "../../testing/index.js";
import { McpConnection } from "./connection.js";

vi.mock("../auth/access.js", () => {
  throw new Error("the file is gone");
});

test("a server over HTTP fails with words when what speaks HTTP cannot be loaded", async () => {
  const world = fakeWorld();
  const spec = { kind: "http", name: "web", url: "https://example.com/mcp", headers: {} } as const;
  const connection = new McpConnection(spec, { world, cwd: "/", client: { name: "tenon", version: "1.2.3" } });
  connection.start();
  const state = await connection.state.until(({ kind }) => kind === "failed" || kind === "waiting", connection.signal);
  const cause = "cause" in state ? state.cause : undefined;
  expect(cause?.code).toBe("mcp.connect_failed");
  expect(cause?.message).toContain("the part of Tenon that speaks HTTP cannot be loaded");
  await connection.close();
});
