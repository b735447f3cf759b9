// The verdicts of the handshake, row by row of the table, and for whatever else a server may answer.

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { TenonError } from "../../base/errors.js";
import type { JsonValue } from "../../base/json/json.js";
import type { RpcOutcome } from "../rpc/rpc.js";
import { LEGACY_VERSIONS, MODERN_VERSION } from "../versions.js";
import { judgeInitialize, judgeProbe } from "./negotiate.js";

const stdio = { isRemote: false, serverName: "given" };
const remote = { isRemote: true, serverName: "given" };
const NEWER = "2027-01-15";

function result(value: { readonly [key: string]: JsonValue }): RpcOutcome {
  return { kind: "result", result: value };
}

function refusal(code: number, data?: JsonValue): RpcOutcome {
  return { kind: "error", error: { code, message: "no", ...(data === undefined ? {} : { data }) } };
}

function lost(code: TenonError["code"], httpStatus?: number): RpcOutcome {
  const error = new TenonError(code, "gone");
  return { kind: "lost", loss: { error, wasSent: true, ...(httpStatus === undefined ? {} : { httpStatus }) } };
}

describe("the answer to server/discover", () => {
  test("with our version in it makes the server modern, named in _meta or in the body", () => {
    const discovery = { supportedVersions: [NEWER, MODERN_VERSION], capabilities: { tools: {} } };
    const inMeta = {
      ...discovery,
      instructions: "be kind",
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "m", version: "2", title: "M" } },
    };
    expect(judgeProbe(result(inMeta), stdio)).toEqual({
      kind: "modern",
      handshake: {
        agreement: { era: "modern", protocolVersion: MODERN_VERSION },
        server: { name: "m", version: "2", title: "M" },
        capabilities: { tools: {} },
        instructions: "be kind",
      },
    });
    const inBody = { ...discovery, serverInfo: { name: "b", version: "1" } };
    expect(judgeProbe(result(inBody), remote)).toMatchObject({ handshake: { server: { name: "b", version: "1" } } });
    expect(judgeProbe(result(discovery), stdio)).toMatchObject({
      handshake: { server: { name: "given", version: "" } },
    });
  });

  test.each<[string, RpcOutcome]>([
    ["an empty result", result({})],
    ["no versions", result({ supportedVersions: [], capabilities: {} })],
    ["versions that are no list", result({ supportedVersions: MODERN_VERSION, capabilities: {} })],
    ["no capabilities", result({ supportedVersions: [MODERN_VERSION] })],
    ["no common version", result({ supportedVersions: [NEWER], capabilities: {} })],
    ["method not found", refusal(-32601)],
    ["invalid params", refusal(-32602)],
    ["a server that is not initialised", refusal(-32000)],
    ["an invalid request", refusal(-32600)],
    ["the code that a beta used for an unsupported version", refusal(-32004, { supported: [MODERN_VERSION] })],
    ["-32022 without data", refusal(-32022)],
    ["-32022 with malformed data", refusal(-32022, { supported: "all" })],
    ["-32022 naming legacy versions only", refusal(-32022, { supported: ["2025-11-25"] })],
    ["-32022 naming a newer and a legacy version", refusal(-32022, { supported: [NEWER, "2025-06-18"] })],
  ])("%s means legacy, on any transport", (_, outcome) => {
    for (const asked of [stdio, remote])
      expect(judgeProbe(outcome, asked)).toEqual({ kind: "legacy", isCertain: true });
  });

  test("-32022 that names our own version asks to be asked again", () => {
    const data = { supported: [MODERN_VERSION], requested: MODERN_VERSION };
    expect(judgeProbe(refusal(-32022, data), remote)).toEqual({ kind: "ask_again" });
  });

  test("-32022 that names only newer versions is final, and says which", () => {
    const verdict = judgeProbe(refusal(-32022, { supported: [NEWER] }), stdio);
    expect(verdict).toMatchObject({ kind: "refused", error: { code: "mcp.unsupported_version" } });
    expect(verdict.kind === "refused" && verdict.error.message).toContain(NEWER);
  });

  test.each([-32020, -32021])("%i is our own fault and not a sign of a legacy server", (code) => {
    expect(judgeProbe(refusal(code), remote)).toMatchObject({ kind: "refused", error: { code: "mcp.protocol" } });
  });

  test.each([200, 202, 400, 404, 405, 500, 502, 503])("HTTP %i without a message means legacy", (status) => {
    expect(judgeProbe(lost("mcp.protocol", status), remote)).toEqual({ kind: "legacy", isCertain: true });
  });

  test("missing credentials and a dead network decide nothing", () => {
    expect(judgeProbe(lost("mcp.unauthorized", 401), remote)).toMatchObject({ error: { code: "mcp.unauthorized" } });
    expect(judgeProbe(lost("mcp.unauthorized", 403), remote)).toMatchObject({ error: { code: "mcp.unauthorized" } });
    expect(judgeProbe(lost("mcp.unavailable"), remote)).toMatchObject({ error: { code: "mcp.unavailable" } });
  });

  test.each([stdio, remote])("an answer without anything in it means legacy, in place", (where) => {
    expect(judgeProbe(lost("mcp.protocol"), where)).toEqual({ kind: "legacy", isCertain: true });
  });

  test("a remote server that hangs up at the probe is tried the legacy way, without believing it", () => {
    expect(judgeProbe(lost("mcp.connection_lost"), remote)).toEqual({ kind: "legacy", isCertain: false });
    const unreached = { error: new TenonError("mcp.connection_lost", "gone"), wasSent: false };
    expect(judgeProbe({ kind: "lost", loss: unreached }, remote)).toMatchObject({ kind: "refused" });
  });

  test("silence tries the legacy way without believing it; an exit takes another process", () => {
    const silence: RpcOutcome = { kind: "timed_out", afterMs: 5_000 };
    expect(judgeProbe(silence, remote)).toEqual({ kind: "legacy", isCertain: false });
    expect(judgeProbe(silence, stdio)).toEqual({ kind: "legacy", isCertain: false });
    expect(judgeProbe(lost("mcp.connection_lost"), stdio)).toEqual({ kind: "restart_legacy" });
    expect(judgeProbe(lost("mcp.spawn_failed"), stdio)).toMatchObject({ kind: "refused" });
  });
});

describe("the answer to initialize", () => {
  const asked = { ...stdio, version: LEGACY_VERSIONS[0] ?? "" };

  test.each(LEGACY_VERSIONS)("with %s is accepted", (protocolVersion) => {
    const answer = { protocolVersion, capabilities: { logging: {} }, serverInfo: { name: "old", version: "3" } };
    expect(judgeInitialize(result(answer), asked)).toEqual({
      kind: "legacy",
      handshake: {
        agreement: { era: "legacy", protocolVersion },
        server: { name: "old", version: "3" },
        capabilities: { logging: {} },
      },
    });
  });

  test("with a version nobody knows is refused, with its name", () => {
    const verdict = judgeInitialize(result({ protocolVersion: "2023-01-01" }), asked);
    expect(verdict).toMatchObject({ kind: "refused", error: { code: "mcp.unsupported_version" } });
    expect(verdict.kind === "refused" && verdict.error.message).toContain("2023-01-01");
    expect(judgeInitialize(result({}), asked)).toMatchObject({ error: { code: "mcp.protocol" } });
  });

  test("heals a verdict that is out of date: a modern-only server says so", () => {
    const data = { supported: [MODERN_VERSION], requested: "2025-11-25" };
    expect(judgeInitialize(refusal(-32022, data), asked)).toEqual({ kind: "modern" });
  });

  test("that names an older version we speak is asked again with it", () => {
    expect(judgeInitialize(refusal(-32602, { supported: ["2024-11-05"] }), asked)).toEqual({
      kind: "ask_again",
      version: "2024-11-05",
    });
    expect(judgeInitialize(refusal(-32022, { supported: [asked.version] }), asked)).toMatchObject({
      kind: "refused",
      error: { code: "mcp.unsupported_version" },
    });
  });

  test("that is an error or a loss keeps its words", () => {
    expect(judgeInitialize(refusal(-32603), asked)).toMatchObject({ error: { code: "mcp.connect_failed" } });
    expect(judgeInitialize(lost("mcp.spawn_failed"), asked)).toMatchObject({ error: { code: "mcp.spawn_failed" } });
  });
});

test("whatever comes back, the verdict is one of the table's, and only a discovery or -32022 leads to the modern era", () => {
  const json = fc.jsonValue({ maxDepth: 3 });
  const version = fc.constantFrom(MODERN_VERSION, NEWER, ...LEGACY_VERSIONS, "", "draft");
  const outcome = fc.oneof(
    fc.record({
      kind: fc.constant("result" as const),
      result: fc.dictionary(
        fc.constantFrom("supportedVersions", "capabilities", "protocolVersion", "serverInfo", "_meta", "x"),
        fc.oneof(json, fc.array(version), version),
      ),
    }),
    fc.record({
      kind: fc.constant("error" as const),
      error: fc.record({
        code: fc.oneof(fc.integer(), fc.constantFrom(-32020, -32021, -32022, -32601, -32602)),
        message: fc.string(),
        data: fc.oneof(json, fc.record({ supported: fc.oneof(json, fc.array(version)) })),
      }),
    }),
  );
  fc.assert(
    fc.property(outcome, fc.boolean(), (made, isRemote) => {
      // fast-check's JSON is typed as unknown; over the wire it is JSON all the same.
      const wired: RpcOutcome = JSON.parse(JSON.stringify(made));
      const probe = judgeProbe(wired, { isRemote, serverName: "given" });
      expect(["modern", "ask_again", "legacy", "refused"]).toContain(probe.kind);
      if (probe.kind === "modern")
        expect(wired.kind === "result" && wired.result["supportedVersions"]).toContain(MODERN_VERSION);
      if (probe.kind === "ask_again") expect(wired).toMatchObject({ error: { code: -32022 } });
      const init = judgeInitialize(wired, { isRemote, serverName: "given", version: "2025-11-25" });
      if (init.kind === "legacy") expect(LEGACY_VERSIONS).toContain(init.handshake.agreement.protocolVersion);
      if (init.kind === "ask_again") expect(LEGACY_VERSIONS).toContain(init.version);
    }),
  );
});
