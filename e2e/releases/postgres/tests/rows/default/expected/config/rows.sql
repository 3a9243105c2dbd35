SET client_min_messages = warning;
BEGIN;
CREATE TABLE IF NOT EXISTS runs (run integer PRIMARY KEY, rows integer NOT NULL);
CREATE TABLE IF NOT EXISTS entries (
  run integer REFERENCES runs, number integer, content text NOT NULL, PRIMARY KEY (run, number)
);
-- Runs at the same time wait for each other.
LOCK TABLE runs IN EXCLUSIVE MODE;

DO $$
DECLARE
  lost text;
BEGIN
  SELECT string_agg(format('run %s: %s of %s rows', run, intact, coalesce(expected::text, 'an unknown number of')), '; ' ORDER BY run)
    INTO lost
    FROM (
      SELECT run, runs.rows AS expected, count(*) FILTER (WHERE content = md5(run || '/' || number)) AS intact
        FROM generate_series(1, (SELECT max(run) FROM runs)) AS known (run)
        LEFT JOIN runs USING (run)
        LEFT JOIN entries USING (run)
        GROUP BY run, runs.rows
    ) AS each_run
    WHERE expected IS DISTINCT FROM intact;
  IF lost IS NOT NULL THEN
    RAISE 'rows are lost: %', lost;
  END IF;
END
$$;

SELECT count(*) AS earlier_runs, coalesce(sum(rows), 0) AS earlier_rows, coalesce(max(run), 0) + 1 AS run FROM runs \gset
INSERT INTO runs VALUES (:run, 100);
INSERT INTO entries SELECT :run, number, md5(:run || '/' || number) FROM generate_series(1, 100) AS number;
COMMIT;
\echo run :run': wrote' 100 'rows, and found' :earlier_rows 'rows of' :earlier_runs 'earlier runs'
