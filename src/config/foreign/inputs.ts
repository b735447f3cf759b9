// The questions a VS Code file asks when a server starts (`inputs`), as far as they matter for what takes their place.
import { defined } from "../../base/json/defined.js";
import { isJsonObject, type JsonValue } from "../../base/json/json.js";

export interface ForeignInput {
  readonly description?: string;
  readonly isPassword: boolean;
  readonly fallback?: string;
}

/** Never throws: what is malformed is as if it were not there. */
export function inputsOf(value: JsonValue | undefined): ReadonlyMap<string, ForeignInput> {
  const inputs = new Map<string, ForeignInput>();
  for (const input of Array.isArray(value) ? value : []) {
    if (!isJsonObject(input) || typeof input["id"] !== "string") continue;
    const { id, description, password, default: fallback } = input;
    inputs.set(id, {
      isPassword: password === true,
      ...defined({
        description: typeof description === "string" ? description : undefined,
        fallback: typeof fallback === "string" ? fallback : undefined,
      }),
    });
  }
  return inputs;
}
