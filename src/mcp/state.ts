// Where a connection stands. Status for people is derived from it elsewhere.
import type { TenonError } from "../base/errors.js";

export interface ServerIdentity {
  readonly name: string;
  readonly version: string;
}

export type ConnectionState =
  | { readonly kind: "connecting" }
  | { readonly kind: "ready"; readonly server: ServerIdentity; readonly connectMs: number }
  | { readonly kind: "failed"; readonly error: TenonError; readonly connectMs: number }
  | { readonly kind: "closed" };
