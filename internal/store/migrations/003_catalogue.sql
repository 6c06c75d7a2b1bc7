-- what the rules read of the catalogue of these tables, product by product; see catalogue.Summary
alter table payfold.schema_state add column catalogue jsonb;

---- create above / drop below ----

alter table payfold.schema_state drop column catalogue;
