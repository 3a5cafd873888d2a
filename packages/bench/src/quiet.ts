// Before wrangler is loaded: its lines about every delivery are no part of a measurement.
process.env["WRANGLER_LOG"] ??= "error";
