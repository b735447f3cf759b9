// Reads what bad servers need of a request.
import { isJsonObject, type JsonObject } from "../../../../src/base/json/json.js";
import type { Id } from "./lab.js";

export function idOf(message: JsonObject): Id | undefined {
  const { id } = message;
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

export function paramsOf(message: JsonObject): JsonObject {
  return isJsonObject(message["params"]) ? message["params"] : {};
}

export function tokenOf(params: JsonObject): Id | undefined {
  const meta = params["_meta"];
  return isJsonObject(meta) ? idOf({ id: meta["progressToken"] ?? null }) : undefined;
}

export function initializeResult(params: JsonObject): JsonObject {
  return {
    protocolVersion: params["protocolVersion"] ?? "2025-11-25",
    capabilities: { tools: { listChanged: true }, logging: {} },
    serverInfo: { name: "bad", version: "1.0.0" },
  };
}
