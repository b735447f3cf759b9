// A result "schema" that accepts any object: the SDK's own would reject a whole list or result for one odd entry.
import type { Client, RequestOptions, StandardSchemaV1 } from "@modelcontextprotocol/client";
import { isJsonObject, type JsonObject } from "../base/json.js";

const ANY_OBJECT: StandardSchemaV1<unknown, JsonObject> = {
  "~standard": {
    version: 1,
    vendor: "tenon",
    validate: (value) => (isJsonObject(value) ? { value } : { issues: [{ message: "the result is not an object" }] }),
  },
};

export async function requestRaw(
  client: Client,
  request: { method: string; params?: Record<string, unknown> },
  options: RequestOptions,
): Promise<JsonObject> {
  return await client.request(request, ANY_OBJECT, options);
}
