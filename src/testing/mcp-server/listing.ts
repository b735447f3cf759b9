// What a scripted server says of itself: its `initialize` result and its pages of tools. Pure.
import type { JsonObject, JsonValue } from "../../base/json/json.js";
import type { Behaviour, ToolScript } from "./behaviour.js";
import { type Answer, definitionOf } from "./replies.js";
import { TASK_CAPABILITIES } from "./task-desk.js";

const LEGACY_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const INVALID_PARAMS = -32602;

export function initializeAnswer(behaviour: Behaviour, params: JsonObject): Answer {
  const { instructions, protocolVersion } = behaviour;
  const agreed = LEGACY_VERSIONS.find((version) => version === params["protocolVersion"]) ?? LEGACY_VERSIONS[0];
  return {
    result: {
      protocolVersion: protocolVersion ?? agreed,
      capabilities: capabilitiesOf(behaviour),
      serverInfo: serverInfoOf(behaviour),
      ...(instructions !== undefined && { instructions }),
    },
  };
}

export function capabilitiesOf({ capabilities, tools = [] }: Behaviour): JsonObject {
  const tasks = tools.some(({ task }) => task !== undefined) ? TASK_CAPABILITIES : {};
  return capabilities ?? { tools: { listChanged: true }, logging: {}, ...tasks };
}

export function serverInfoOf({ serverName, serverVersion }: Behaviour): JsonObject {
  return { name: serverName ?? "scripted", version: serverVersion ?? "1.0.0" };
}

/** `tools` are those of the moment: a script may have replaced the behaviour's own. */
export function pageAnswer(behaviour: Behaviour, tools: readonly ToolScript[], cursor: JsonValue | undefined): Answer {
  const { rawTools, pageSize, endlessPages } = behaviour;
  const all: readonly JsonValue[] = [...tools.map(definitionOf), ...(rawTools ?? [])];
  const from = cursor === undefined ? 0 : typeof cursor === "string" && cursor !== "" ? Number(cursor) : Number.NaN;
  if (!Number.isInteger(from) || from < 0) {
    return { error: { code: INVALID_PARAMS, message: `Invalid cursor: ${JSON.stringify(cursor)}` } };
  }
  const to = from + (pageSize ?? Math.max(1, all.length));
  const hasMore = to < all.length || endlessPages === true;
  return { result: { tools: all.slice(from, to), ...(hasMore && { nextCursor: String(to) }) } };
}
