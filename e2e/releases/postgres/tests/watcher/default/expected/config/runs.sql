SELECT to_regclass('runs') IS NOT NULL AS written \gset
\if :written
SELECT count(*) FROM runs;
\else
\echo 0
\endif
