// `--listen` and what belongs to it, as several commands take it.
import { resolve } from "node:path";
import { defined } from "../base/json/defined.js";
import type { ListenAt } from "../gateway/index.js";
import { misused, type Values } from "./command.js";

type ListenValues = Values<"insecure-http", "tls-cert" | "tls-key">;

/** Throws `usage.invalid`. */
export function listenPlaces(listen: readonly string[], values: ListenValues, cwd: string): readonly ListenAt[] {
  const [certificate, key] = [values["tls-cert"], values["tls-key"]];
  const isInsecure = values["insecure-http"] === true;
  if ((certificate === undefined) !== (key === undefined)) throw misused("--tls-cert and --tls-key belong together");
  const tls =
    certificate !== undefined && key !== undefined
      ? { certificate: resolve(cwd, certificate), key: resolve(cwd, key) }
      : undefined;
  return listen.map((at): ListenAt => ({ kind: "tcp", ...addressOf(at), isInsecure, ...defined({ tls }) }));
}

/** `HOST:PORT`, `[v6]:PORT`, `:PORT` or `PORT`; without a host the loopback address. */
function addressOf(text: string): { readonly host: string; readonly port: number } {
  const [, v6, name, digits] = /^(?:\[([0-9A-Fa-f:.]+)\]:|([^:[\]]*):)?(\d{1,5})$/u.exec(text) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535) throw misused("--listen takes HOST:PORT, or a port of this machine alone");
  return { host: v6 ?? (name || "127.0.0.1"), port };
}
